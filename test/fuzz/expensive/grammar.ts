// Makes random expressions that cost as much as their author can make them: CEL rules and JSONPaths of works, printer
// columns of CRDs, templates of import policies, and patterns within them. The data they read is large, wide or deep.

/** One thing that an author writes, with the object that it reads. */
export type ExpensiveCase =
  | { readonly kind: 'rules'; readonly object: string; readonly expressions: readonly string[] }
  | { readonly kind: 'feedback' | 'ignoreFields'; readonly object: string; readonly paths: readonly string[] }
  | { readonly kind: 'columns'; readonly object: string; readonly paths: readonly string[]; readonly rows: number }
  | {
      readonly kind: 'policy';
      readonly object: string;
      readonly templates: readonly string[];
      readonly sources: number;
    };

export const expensiveKinds = ['rules', 'feedback', 'ignoreFields', 'columns', 'policy'] as const;

/** Objects by name, none larger than an API server keeps (1.5 MiB). */
export const objects: Readonly<Record<string, () => object>> = {
  small: () => body({ a: 'x', list: [1, 2, 3], b: { a: { b: 'y' } } }),
  long: () => body({ a: 'a'.repeat(1_000_000), b: `${'ab'.repeat(100_000)}!`, list: ['a'.repeat(50_000)] }),
  wide: () =>
    body({
      a: Object.fromEntries(Array.from({ length: 40_000 }, (_, i) => [`key-${i}`, 'v'])),
      list: Array.from({ length: 20_000 }, (_, i) => i),
      b: Array.from({ length: 4_000 }, (_, i) => ({ a: `${i}`, b: [i], c: 'Ready' })),
    }),
  deep: () => body({ a: nested(300), list: [nested(200)], b: nested(7, 2) }),
  texts: () =>
    body({ list: Array.from({ length: 20_000 }, (_, i) => `text-${i}-${'x'.repeat(i % 50)}`), a: 'x', b: {} }),
};

function body(data: Readonly<Record<string, unknown>>): object {
  const metadata = { name: 'x', namespace: 'ns', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z', labels: {} };
  return { apiVersion: 'example.org/v1', kind: 'Thing', metadata, ...data, data };
}

function nested(depth: number, branches = 0): object {
  let inner: object = { a: 'x', b: [] };
  for (let i = 0; i < depth; i++) inner = { a: inner, b: Array.from({ length: branches }, () => inner) };
  return inner;
}

const patterns = [
  ...[
    '^(a+)+$',
    '(a|aa)+$',
    '(.*a){20}',
    '(?:a.*b|a)',
    '([a-z]*)*!',
    '(a?){50}a{50}',
    '.*.*.*=.*',
    '\\\\w+@',
    '(x+x+)+y',
  ],
  ...['((a{1,50}){1,50}){1,10}', '[^z]*z', '(?:(?:(?:a*)*)*)*b', 'x*', '', '(a{1000})', '(?i)A*B*C*D*'],
];
const fields = ['a', 'b', 'list', 'data', 'metadata', 'labels', 'key-7'];

export class ExpensiveGrammar {
  readonly #random: () => number;

  /** @param random gives numbers from 0 up to 1 */
  constructor(random: () => number) {
    this.#random = random;
  }

  next(kind = this.#pick(expensiveKinds)): ExpensiveCase {
    const object = this.#pick(Object.keys(objects));
    switch (kind) {
      case 'rules':
        return { kind, object, expressions: this.#some(4, () => this.#cel(4)) };
      case 'feedback':
      case 'ignoreFields':
        return { kind, object, paths: this.#some(this.#pick([2, 20, 400]), () => this.#path()) };
      case 'columns':
        return {
          kind,
          object,
          paths: this.#some(this.#pick([2, 20, 400]), () => this.#path()),
          rows: this.#pick([1, 30]),
        };
      case 'policy':
        return { kind, object, templates: this.#some(2, () => this.#template(3)), sources: this.#pick([1, 5, 40]) };
    }
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)]!;
  }

  #some<T>(most: number, make: () => T): readonly T[] {
    return Array.from({ length: 1 + this.#below(most) }, make);
  }

  #path(): string {
    const step = (): string =>
      this.#pick([
        ...['..', '..', '..a', '.*', '[*]', '[:]', '[-1]', `[${'0,'.repeat(this.#below(500))}0]`],
        ...[`[${'*,'.repeat(this.#below(200))}*]`, `[?(@.a=="x")]`, `[?(@..${this.#pick(fields)})]`, '[?(@.c>@.a)]'],
        `.${this.#pick(fields)}`,
      ]);
    const start = this.#pick(['', `.${this.#pick(fields)}`]);
    return (start + this.#some(this.#pick([3, 10, 200]), step).join('')).slice(0, 2_048);
  }

  #cel(depth: number): string {
    const list = (): string => this.#pick(['object.list', 'object.b', '[1, 2, 3]', `object.list.map(x, x)`]);
    const text = (): string =>
      this.#pick(['object.a', 'object.b', '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"', 'string(object)', 'object.list[0]']);
    if (depth === 0) return this.#pick(['true', `${text()}.matches(${JSON.stringify(this.#pick(patterns))})`]);
    const inner = (): string => this.#cel(depth - 1);
    return this.#pick([
      () => `${list()}.${this.#pick(['all', 'exists', 'exists_one'])}(x${depth}, ${inner()})`,
      () => `${list()}.${this.#pick(['map', 'filter'])}(x${depth}, ${inner()}).size() > 3`,
      () => `(${inner()} && ${inner()})`,
      () => `(${inner()} || ${inner()})`,
      () => `size(${this.#some(30, text).join(' + ')}) > 3`,
      () => `${text()}.matches(${JSON.stringify(this.#pick(patterns))})`,
      () => `(${list()} + ${list()}).exists(y, y == ${text()})`,
      () => `${text()}.replace("a", ${text()}).size() > 3`,
      () => `${text()}.split("").size() > 3`,
      () => `${text()}.findAll(${JSON.stringify(this.#pick(patterns))}).size() > 3`,
      () => `${list()}.map(q${depth}, quantity("1e300").add(quantity("1n")).add(1)).size() > 3`,
      () => `sets.contains(${list()}, ${list()}) || ${list()}.indexOf(${text()}) > 3`,
      () => `"%s %s".format([object, ${list()}]).reverse().upperAscii().size() > 3`,
      () => `[${text()}, ${text()}].join(${text()}).indexOf(${text()}) > 3`,
      () => `isURL(${text()}) || isIP(${text()}) || isSemver(${text()}) || isQuantity(${text()})`,
      () => `object == object && ${inner()}`,
    ])();
  }

  #template(depth: number): string {
    const value = (): string =>
      this.#pick([
        '.source.a',
        '.source.b',
        '.source.list',
        '.source.data',
        '.source',
        `(repeat ${this.#count()} "ab")`,
      ]);
    const pattern = (): string => JSON.stringify(this.#pick(patterns));
    const action = this.#pick([
      () => `{{ len (regexFindAll ${pattern()} ${this.#textOf(value())} -1) }}`,
      () => `{{ regexReplaceAll ${pattern()} ${this.#textOf(value())} ${this.#textOf(value())} }}`,
      () => `{{ len (pick ${value()} "key-1" "a") }}{{ len (omit ${value()} "key-1") }}`,
      () => `{{ ${value()} | toJson | b64enc | sha256sum }}`,
      () => `{{ ${value()} | toJson | fromJson | toJson | len }}`,
      () => `{{ repeat ${this.#count()} ${this.#textOf(value())} | len }}`,
      () => `{{ printf "%${this.#count()}d %v" 1 ${value()} }}`,
      () => `{{ until ${this.#count()} | join "," | splitList "," | uniq | reverse | sortAlpha | len }}`,
      () => `{{ ${value()} | toJson | upper | replace "A" "aaaaaaaaaaaaaaaaaaaaaaaaaa" | len }}`,
      () => `{{ ${value()} | toPrettyJson | indent ${this.#count()} | len }}`,
    ])();
    if (depth === 0) return action;
    const inner = (): string => this.#template(depth - 1);
    return this.#pick([
      () => action,
      () => `{{ range until ${this.#count()} }}${inner()}{{ end }}`,
      () => `{{ range $k, $v := ${value()} }}${inner()}{{ end }}`,
      () => `{{ define "t" }}${inner()}{{ template "t" . }}{{ end }}{{ template "t" . }}`,
      () => `${inner()}${inner()}`,
      () => `{{ with $x := ${value()} }}${inner()}{{ end }}`,
    ])();
  }

  #count(): number {
    return this.#pick([3, 1_000, 30_000, 1_000_000]);
  }

  #textOf(value: string): string {
    return value.startsWith('(') ? value : `(${value} | toJson)`;
  }
}
