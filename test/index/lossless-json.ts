// JSON as it is spelt: order of members, text of numbers and strings. The oracle for what the index keeps of an object.
// It must not share code with what it judges, and JSON.parse forgets exactly what is asked here.

/** A value; scalars and keys as written, quotes included. */
export type Spelt =
  | { readonly kind: 'object'; readonly members: readonly (readonly [key: string, value: Spelt])[] }
  | { readonly kind: 'list'; readonly items: readonly Spelt[] }
  | { readonly kind: 'scalar'; readonly text: string };

const token = /\s*([{}[\]:,]|"(?:[^"\\]|\\.)*"|[^\s{}[\]:,"]+)\s*/gsy;

/** @throws Error for what is no JSON; scalars are not looked into */
export function readSpelt(text: string): Spelt {
  const tokens = [...text.matchAll(token)].map((match) => match[1]!);
  if (tokens.join('').length === 0) throw new Error('no JSON');
  let at = 0;
  const take = (wanted: string): void => {
    if (tokens[at] !== wanted) throw new Error(`${String(tokens[at])} where ${wanted} belongs`);
    at += 1;
  };
  const series = <Item>(close: string, read: () => Item): Item[] => {
    const items: Item[] = [];
    at += 1;
    if (tokens[at] !== close) {
      items.push(read());
      while (tokens[at] === ',') {
        at += 1;
        items.push(read());
      }
    }
    take(close);
    return items;
  };
  const value = (): Spelt => {
    const next = tokens[at];
    if (next === '{') {
      const member = (): readonly [string, Spelt] => {
        const key = tokens[at]!;
        at += 1;
        take(':');
        return [key, value()];
      };
      return { kind: 'object', members: series('}', member) };
    }
    if (next === '[') return { kind: 'list', items: series(']', value) };
    if (next === undefined) throw new Error('cut JSON');
    at += 1;
    return { kind: 'scalar', text: next };
  };
  const read = value();
  if (at !== tokens.length) throw new Error('more than one value');
  return read;
}

/**
 * The object without what the index documents to leave out, and without the annotation it adds; `undefined` members do
 * not exist.
 */
export function withoutRemoved(spelt: Spelt): Spelt {
  return changed(spelt, 'metadata', (metadata) =>
    without(
      changed(metadata, 'annotations', (annotations) => {
        const rest = without(
          annotations,
          'kubectl.kubernetes.io/last-applied-configuration',
          'shadow.clusterpedia.io/cluster-name',
        );
        return rest.kind === 'object' && rest.members.length === 0 ? undefined : rest;
      }),
      'managedFields',
    ),
  );
}

function changed(spelt: Spelt, key: string, change: (value: Spelt) => Spelt | undefined): Spelt {
  if (spelt.kind !== 'object') return spelt;
  const members = spelt.members.flatMap(([name, value]): (readonly [string, Spelt])[] => {
    const next = name === JSON.stringify(key) ? change(value) : value;
    return next === undefined ? [] : [[name, next]];
  });
  return { kind: 'object', members };
}

function without(spelt: Spelt, ...keys: readonly string[]): Spelt {
  if (spelt.kind !== 'object') return spelt;
  const gone = new Set(keys.map((key) => JSON.stringify(key)));
  return { kind: 'object', members: spelt.members.filter(([name]) => !gone.has(name)) };
}
