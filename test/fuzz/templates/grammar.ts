// Makes random templates from the functions that policies can call, with data to render them. Most are valid and use
// values that exist. Some are not, because failures must be the same as in Go, too.
import { functions } from '../../../import/template/function-table.ts';

/** A template and its data. */
export interface TemplateCase {
  readonly template: string;
  readonly data: unknown;
}

/** The data of every case: objects as policies get them, with missing values and values of every type. */
export const sampleData = {
  source: {
    metadata: {
      name: 'c1',
      namespace: 'ns-1',
      labels: { app: 'web', 'cluster.x-k8s.io/name': 'c1', empty: '' },
      annotations: null,
      generation: 3,
    },
    spec: {
      apiEndpoint: 'https://10.0.0.1:6443/k8s?x=1&y=<2>',
      paused: false,
      weight: 1.5,
      huge: 1000000.25,
      ports: [80, 443, 6443],
      names: ['b', 'a', 'c', 'a'],
      nested: { a: { b: { c: 'deep' } } },
      none: null,
      emptyList: [],
      emptyMap: {},
      text: '  + & < > " \' \u00e9\u4e16\n second\t',
    },
    status: {
      ready: true,
      conditions: [
        { type: 'Ready', status: 'True', observedGeneration: 2 },
        { type: 'ControlPlaneInitialized', status: 'False' },
      ],
    },
    data: {
      config: 'YXBpVmVyc2lvbjogdjE=',
      bad: 'YXBp*',
      token: 'dG9rZW4',
      value: 'AAEC/w==',
      json: '{"a":[1,2.5,"x"],"b":null}',
    },
  },
  references: { secret: { metadata: { name: 's1' }, data: { ca: 'Q0E=' } } },
};

const paths = [
  '.source.metadata.name',
  '.source.metadata.namespace',
  '.source.metadata.labels',
  '.source.metadata.labels.app',
  '.source.metadata.annotations',
  '.source.metadata.generation',
  '.source.spec.apiEndpoint',
  '.source.spec.paused',
  '.source.spec.weight',
  '.source.spec.huge',
  '.source.spec.ports',
  '.source.spec.names',
  '.source.spec.nested',
  '.source.spec.nested.a.b.c',
  '.source.spec.none',
  '.source.spec.none.more',
  '.source.spec.emptyList',
  '.source.spec.emptyMap',
  '.source.spec.text',
  '.source.spec.missing',
  '.source.missing.more.still',
  '.source.status.ready',
  '.source.status.conditions',
  '.source.data.config',
  '.source.data.bad',
  '.source.data.token',
  '.source.data.value',
  '.source.data.json',
  '.references.secret.data.ca',
  '.references.none.data.ca',
  '.source',
  '.',
  '$',
  '$.source.metadata.name',
];

const constants = [
  '""',
  '"a"',
  '"-"',
  '"app"',
  '"c1"',
  '"https://"',
  '"True"',
  '"\\u00e9\\n"',
  '"%s-%d %v|%5.2f|%q|%x|%t|%-6s|%06d|%+d"',
  '"%v %v"',
  '"%c %U %e %g"',
  '"^c([0-9]+)$"',
  '"[a-z]+"',
  '"(a|b)*"',
  '"$1-${0}"',
  '`raw "text"`',
  '"a,b,,c"',
  '","',
  '0',
  '1',
  '2',
  '-1',
  '3',
  '1.5',
  '0x10',
  "'x'",
  'true',
  'false',
  'nil',
];

/**
 * Functions that are called at random. Left out are those whose order of keys is random in Go, those that always fail,
 * and `set` and `merge`: with them a map can hold itself, and Go's process ends when it prints one.
 */
const leftOut = new Set(['keys', 'values', 'urlquery', 'fail', 'set', 'merge']);
const names = [...functions.keys(), 'and', 'or'].filter((name) => !leftOut.has(name));

/** Makes random templates. @param random gives numbers from 0 up to 1 */
export class TemplateGrammar {
  readonly #random: () => number;
  #variables = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  next(): TemplateCase {
    this.#variables = 0;
    const parts = Array.from({ length: 1 + this.#below(3) }, () => this.#node(3));
    return { template: parts.join(this.#pick(['', ' ', '\n'])), data: sampleData };
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)]!;
  }

  #open(): string {
    return this.#pick(['{{', '{{ ', '{{- ', '{{']);
  }

  #close(): string {
    return this.#pick(['}}', ' }}', ' -}}', '}}']);
  }

  #action(inner: string): string {
    return `${this.#open()}${inner}${this.#close()}`;
  }

  #node(depth: number): string {
    const kind = depth === 0 ? this.#below(3) : this.#below(9);
    const body = (): string => (depth === 0 ? 'x' : this.#node(depth - 1));
    switch (kind) {
      case 0:
        return this.#pick(['text', ' ', '\n a: ', 'x-']);
      case 3:
        return `${this.#action(`if ${this.#pipeline(2)}`)}${body()}${this.#else(depth)}${this.#action('end')}`;
      case 4:
        return `${this.#action(`with ${this.#pipeline(2)}`)}${this.#action('.')}${body()}${this.#action('end')}`;
      case 5:
        return this.#range(body());
      case 6: {
        const variable = `$v${this.#variables++}`;
        return `${this.#action(`${variable} := ${this.#pipeline(2)}`)}${this.#action(variable)}${body()}`;
      }
      case 7:
        return this.#action('/* note */')
          .replace(/\{\{(?:- | )?\/\*/, '{{/*')
          .replace(/\*\/(?: -| )?\}\}/, '*/}}');
      default:
        return this.#action(this.#pipeline(3));
    }
  }

  #else(depth: number): string {
    if (this.#below(2) === 0) return '';
    return `${this.#action('else')}${depth === 0 ? 'y' : this.#node(depth - 1)}`;
  }

  #range(body: string): string {
    const over = this.#pick(['.source.spec.ports', '.source.spec.names', '.source.metadata.labels', '3', ...paths]);
    const jump = this.#pick(['', '', this.#action('break'), this.#action('continue')]);
    const [declared, shown] = this.#pick([
      ['', '.'],
      ['$i, $e := ', '$i'],
      ['$e := ', '$e'],
    ]);
    return `${this.#action(`range ${declared}${over}`)}${this.#action(shown!)}${jump}${body}${this.#action('else')}none${this.#action('end')}`;
  }

  #pipeline(depth: number): string {
    const stages = [this.#command(depth)];
    while (this.#below(4) === 0 && stages.length < 3) stages.push(this.#call(1));
    return stages.join(' | ');
  }

  #command(depth: number): string {
    return this.#below(3) === 0 ? this.#operand(depth) : this.#call(depth);
  }

  #call(depth: number): string {
    const name = this.#pick(names);
    const count = this.#pick([1, 1, 2, 2, 2, 3, 0, 4]);
    return [name, ...Array.from({ length: count }, () => this.#operand(depth - 1))].join(' ');
  }

  #operand(depth: number): string {
    const kind = this.#below(depth > 0 ? 5 : 4);
    if (kind < 2) return this.#pick(paths);
    if (kind < 4) return this.#pick(constants);
    return `(${this.#pipeline(depth - 1)})`;
  }
}
