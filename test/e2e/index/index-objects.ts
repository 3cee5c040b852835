// Objects that a copy may spoil, and a comparison that sees it: keys in order, numbers and strings as they were
// written. Parsing JSON reorders integer keys and rounds numbers, so two texts are compared token by token, and nothing
// of the product is used for it.

/** One scalar, or the beginning of an object or list, and where it stands. */
import { grantedClusterRole, userSubject } from '../../site/rbac.ts';
import { customResource } from '../../site/custom-resource.ts';

export type FlatToken = readonly [path: string, token: string];

/** JSON as a list of its scalars with their paths, in the order of the text. */
export function flatten(text: string): FlatToken[] {
  const found: FlatToken[] = [];
  let at = 0;
  const space = (): void => {
    while (/\s/.test(text[at] ?? '')) at += 1;
  };
  const string = (): string => {
    const start = at;
    at += 1;
    while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    at += 1;
    return text.slice(start, at);
  };
  const value = (path: string): void => {
    space();
    const open = text[at];
    if (open !== '{' && open !== '[') {
      const start = at;
      if (open === '"') string();
      else while (at < text.length && !/[\s,\]}]/.test(text[at]!)) at += 1;
      found.push([path, text.slice(start, at)]);
      return;
    }
    found.push([path, open]);
    at += 1;
    space();
    for (let i = 0; text[at] !== '}' && text[at] !== ']'; i += 1) {
      space();
      let step = `[${i}]`;
      if (open === '{') {
        step = `.${string()}`;
        space();
        at += 1;
      }
      value(path + step);
      space();
      if (text[at] === ',') at += 1;
    }
    at += 1;
  };
  value('');
  return found;
}

const removed = [
  /^\."metadata"\."managedFields"/,
  /^\."metadata"\."annotations"\."kubectl\.kubernetes\.io\/last-applied-configuration"/,
  /^\."metadata"\."annotations"\."shadow\.clusterpedia\.io\/cluster-name"/,
];

/** What of an object is the same in the index: everything but what is documented to be taken out or put in. */
export function documented(tokens: readonly FlatToken[]): string[] {
  const kept = tokens.filter(([path]) => !removed.some((pattern) => pattern.test(path)));
  const hasAnnotations = kept.some(([path]) => path.startsWith('."metadata"."annotations".'));
  return kept
    .filter(([path]) => hasAnnotations || path !== '."metadata"."annotations"')
    .map(([path, token]) => `${path} ${token}`);
}

/** Items of a list, each in its own text. */
export function itemTexts(list: string): string[] {
  const start = list.indexOf('"items":[') + '"items":['.length;
  const texts: string[] = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < list.length; at += 1) {
    const c = list[at]!;
    if (c === '"') {
      at += 1;
      while (list[at] !== '"') at += list[at] === '\\' ? 2 : 1;
    } else if (c === '{' || c === '[') {
      if (depth === 0) from = at;
      depth += 1;
    } else if (c === '}' || c === ']') {
      if (depth === 0) break;
      depth -= 1;
      if (depth === 0) texts.push(list.slice(from, at + 1));
    }
  }
  return texts;
}

/** Of the gateway's own credential in a member, what the index needs of it. */
export function reviewRights(user: string): readonly object[] {
  return grantedClusterRole(
    'test-index-reviews',
    [{ apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] }],
    userSubject(user),
  );
}

/** A type whose objects may hold anything, with columns and a second version. */
export const thingDefinition: object = customResource('things.corpus.example.org', 'Thing', {
  names: { shortNames: ['th'], categories: ['all'] },
  versions: ['v1', 'v1beta1'],
  version: { additionalPrinterColumns: [{ name: 'Size', type: 'string', jsonPath: '.spec.size' }] },
});

/** Objects as JSON text, each with its path: what JSON.stringify would change must reach the member as it is. */
export function corpus(): readonly { readonly path: string; readonly text: string }[] {
  const things = '/apis/corpus.example.org/v1/namespaces/team-a/things';
  const thing = (name: string, spec: string): { readonly path: string; readonly text: string } => ({
    path: things,
    text: `{"apiVersion":"corpus.example.org/v1","kind":"Thing","metadata":{"name":"${name}","labels":{"app":"web"}},"spec":${spec}}`,
  });
  const configMap = (name: string, app: string, data: string): { readonly path: string; readonly text: string } => ({
    path: '/api/v1/namespaces/team-a/configmaps',
    text: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}","labels":{"app":"${app}"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"data":${data}}`,
  });
  return [
    thing('integer-keys', '{"10":"ten","9":"nine","b":1,"1":"one","a":2}'),
    thing('big-number', '{"size":"big","n":9007199254740993,"m":-9223372036854775808}'),
    thing('fraction', '{"n":1.0,"e":1e3,"small":0.1}'),
    thing('escapes', String.raw`{"lt":"\u003c","amp":"\u0026","line":"\u2028","emoji":"\ud83d\ude00","quote":"\""}`),
    thing('proto', '{"__proto__":{"polluted":true},"constructor":"c","toString":"t"}'),
    thing('large', `{"size":"large","text":"${'x'.repeat(1_400_000)}"}`),
    thing('empty', '{"list":[],"object":{},"nothing":null,"deep":[[[{}]]]}'),
    configMap('one', 'web', '{"2":"b","1":"a"}'),
    configMap('two', 'web', '{"key":"value"}'),
    configMap('three', 'other', '{}'),
  ];
}
