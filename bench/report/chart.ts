// Draws horizontal bar charts as SVG, one panel for each measured value. All bars of a panel have one scale that begins
// at zero. Lines on the bars show the 95 % interval, so that readers see when a difference is smaller than the noise.
import type { Estimate } from '../figures/statistics.ts';

/** One bar of a panel, for one program. */
export interface Bar {
  readonly label: string;
  readonly estimate: Estimate;
  /** True for Portcullis: the bar is drawn in the accent colour. */
  readonly ours: boolean;
}

/** A group of bars for one measured value, with a common scale. */
export interface Panel {
  readonly title: string;
  readonly digits: number;
  readonly bars: readonly Bar[];
}

const width = 760;
const labelWidth = 220;
const valueWidth = 70;
const rowHeight = 22;
const barHeight = 12;
const titleHeight = 34;
const gap = 14;

/** Returns the chart as an SVG document, readable on light and dark backgrounds. Panels without bars are left out. */
export function svgChart(panels: readonly Panel[], caption: string): string {
  const shown = panels.filter((panel) => panel.bars.length > 0);
  const parts: string[] = [];
  let top = gap;
  for (const panel of shown) {
    parts.push(...drawPanel(panel, top));
    top += titleHeight + panel.bars.length * rowHeight + gap;
  }
  parts.push(text(gap, top + 8, caption, 'class="note"'));
  const height = top + 2 * gap;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>${escapeXml(caption)}</title>
<style>
  text { font: 12px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600; font-size: 13px } .note { font-size: 11px; fill: #57606a }
  .page { fill: #ffffff } .bar { fill: #9aa7b4 } .ours { fill: #1f6feb } .whisker { stroke: #24292f; stroke-width: 1.2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .note { fill: #9198a1 } .page { fill: #0d1117 } .bar { fill: #59636e } .ours { fill: #4493f8 } .whisker { stroke: #e6edf3 }
  }
</style>
<rect class="page" width="${width}" height="${height}"/>
${parts.join('\n')}
</svg>
`;
}

function drawPanel(panel: Panel, top: number): string[] {
  const parts = [text(gap, top + 16, panel.title, 'class="title"')];
  const room = width - labelWidth - valueWidth - 2 * gap;
  const highest = Math.max(...panel.bars.map(({ estimate }) => Math.max(estimate.point, estimate.high)));
  const x = (value: number): number =>
    round(gap + labelWidth + (highest > 0 ? (Math.max(0, value) / highest) * room : 0));
  panel.bars.forEach(({ label, estimate, ours }, index) => {
    const middle = top + titleHeight + index * rowHeight;
    const start = x(0);
    parts.push(text(gap + labelWidth - 8, middle + 4, label, 'text-anchor="end"'));
    const shape = `x="${start}" y="${middle - barHeight / 2}" width="${round(x(estimate.point) - start)}" height="${barHeight}"`;
    parts.push(`<rect class="${ours ? 'ours' : 'bar'}" ${shape} rx="2"/>`);
    parts.push(
      `<line class="whisker" x1="${x(estimate.low)}" x2="${x(estimate.high)}" y1="${middle}" y2="${middle}"/>`,
    );
    parts.push(
      text(Math.max(x(estimate.point), x(estimate.high)) + 6, middle + 4, estimate.point.toFixed(panel.digits), ''),
    );
  });
  return parts;
}

function text(x: number, y: number, content: string, attributes: string): string {
  return `<text x="${x}" y="${y}"${attributes === '' ? '' : ` ${attributes}`}>${escapeXml(content)}</text>`;
}

function escapeXml(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
