// Writes metrics in the text format of Prometheus, or in OpenMetrics, which for gauges differs only in its content type
// and its last line. prom-client is not used here: it would keep an object for each sample of a fleet, and would turn
// all of them into text in one go.
import { headerValue } from '../../routing/forward/headers.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';

/** A metric with its samples. Both text formats require that all samples of a metric follow each other. */
export class Gauge {
  readonly #name: string;
  readonly #lines: string[];

  constructor(name: string, help: string) {
    this.#name = name;
    this.#lines = [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`];
  }

  /** Adds a sample. The labels are written in the order in which they are given. */
  add(labels: Readonly<Record<string, string>>, value: number): void {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
    this.#lines.push(`${this.#name}{${pairs.join()}} ${value}`);
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`;
  }
}

function escaped(text: string): string {
  return text.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}

/** A text format of metrics: the Content-Type of the answer, and the text that ends it. */
export interface ExpositionFormat {
  readonly contentType: string;
  /** The text after the last sample; '' in the format of Prometheus. */
  readonly end: string;
}

const openMetrics: ExpositionFormat = {
  contentType: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  end: '# EOF\n',
};
const prometheusText: ExpositionFormat = { contentType: 'text/plain; version=0.0.4; charset=utf-8', end: '' };

/** OpenMetrics for a client that names it in its Accept header, as Prometheus does; plain text for everybody else. */
export function expositionFormat(headers: RawHeaders): ExpositionFormat {
  const accept = headerValue(headers, 'accept') ?? '';
  return /(?:^|[\s,])application\/openmetrics-text(?:$|[\s;,])/i.test(accept) ? openMetrics : prometheusText;
}
