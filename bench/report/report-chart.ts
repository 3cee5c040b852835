// Makes the chart of a benchmark run: CPU per request, latency over one connection, memory per watch.
import { svgChart, type Bar, type Panel } from './chart.ts';
import type { Report } from './report.ts';
import type { Contender } from '../scenarios/scenario.ts';
import { estimateMedian } from '../figures/statistics.ts';

const panels = [
  {
    scenario: 'get-16',
    value: 'cpuUs',
    digits: 0,
    title: 'Gateway CPU per request, µs (GET 1 KB, 16 connections) – less is better',
  },
  { scenario: 'get-1', value: 'p50Ms', digits: 2, title: 'Latency p50, ms (GET 1 KB, 1 connection) – less is better' },
  { scenario: 'watch', value: 'kbPerWatch', digits: 0, title: 'Memory per idle watch, KB – less is better' },
];

/** The chart of a run as an SVG document. */
export function reportChart(report: Report, contenders: readonly Contender[]): string {
  const shown = panels.map(({ scenario, value, digits, title }): Panel => ({
    title,
    digits,
    bars: contenders.flatMap((contender): Bar[] => {
      const values = report.samples
        .filter((sample) => sample.scenario === scenario && sample.contender === contender.id)
        .flatMap((sample) => sample.values[value] ?? []);
      if (values.length === 0) return [];
      const estimate = estimateMedian(values, { seed: report.seed });
      return [
        {
          label: `${contender.target.title} · ${contender.protocol}`,
          estimate,
          ours: contender.target.name === 'portcullis',
        },
      ];
    }),
  }));
  const { machine } = report;
  const caption = `${machine.member}; ${machine.cores} × ${machine.cpu}; ${report.rounds} rounds, 95 % intervals; commit ${machine.commit}`;
  return svgChart(shown, caption);
}
