// Turns the text of the search bar into query parameters of the index. The words before a colon stand for filters of
// the index's API, so that kubectl can send the same query. Also says which facets (filters) each kind has.
import type { Kind } from '../api/kube.ts';

/** The text of the search bar, parsed: a query for one resource type. */
export interface Question {
  /** The words of the text, without the word `kind:…`. */
  readonly words: readonly string[];
  /** The type that the text names by `kind:`; it takes precedence over the type that is chosen in the menu. */
  readonly kind: string | undefined;
  /** Query parameters for the index's API. */
  readonly parameters: URLSearchParams;
}

/** The query parameter for each word that may stand before a colon, such as `ns` in `ns:shop`. */
const parameterOf: Readonly<Record<string, string>> = {
  cluster: 'clusters',
  clusters: 'clusters',
  ns: 'namespaces',
  namespace: 'namespaces',
  name: 'nameContains',
  names: 'names',
  label: 'labelSelector',
  owner: 'ownerUID',
  since: 'since',
  before: 'before',
};
/** Parameters that are repeated for each value. All others are sent once, with their values separated by commas. */
const repeated: ReadonlySet<string> = new Set(['nameContains', 'text', 'filter']);

/** Splits a text at blanks, but not inside of quotes. */
export function wordsOf(text: string): readonly string[] {
  return [...text.matchAll(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word);
}

/** Path of the reasons why containers of a Pod wait, such as CrashLoopBackOff or ImagePullBackOff. */
const waitingPath = 'status.containerStatuses[].state.waiting.reason';

/** Returns the full field path for short names such as `image`, `phase` and `node`. */
function longPath(path: string, plural: string): string {
  if (path === 'image') return plural === 'pods' ? 'spec.containers[].image' : 'spec.template.spec.containers[].image';
  if (path === 'phase') return 'status.phase';
  if (path === 'node') return 'spec.nodeName';
  if (path === 'waiting') return waitingPath;
  return path;
}

export function readQuestion(text: string, plural = 'pods'): Question {
  const parameters = new URLSearchParams();
  const words: string[] = [];
  let kind: string | undefined;
  for (const word of wordsOf(text)) {
    const [, key = '', value = ''] = /^([a-zA-Z]+):(.*)$/s.exec(word) ?? [];
    if (key === 'kind') {
      kind = value;
      continue;
    }
    words.push(word);
    const parameter = parameterOf[key];
    const operator = /^(!?)([a-zA-Z.][^=!~<>]*)(=|!=|~|<|>)(.*)$/s.exec(word);
    if (parameter !== undefined) add(parameters, parameter, unquoted(value));
    else if (operator !== null) {
      const [, not, path, sign, operand] = operator;
      parameters.append('filter', `${not}${longPath(path!, plural)}${sign}${operand}`);
    } else if (
      word.startsWith('!') ||
      (/^\.?\w+\.\w/.test(word) && word.includes('.') && /^[!.]|^(?:metadata|spec|status)\./.test(word))
    )
      parameters.append('filter', word);
    else parameters.append('text', unquoted(word));
  }
  return { words, kind, parameters };
}

function add(parameters: URLSearchParams, name: string, value: string): void {
  const earlier = parameters.get(name);
  if (earlier === null || repeated.has(name)) parameters.append(name, value);
  else parameters.set(name, `${earlier},${value}`);
}

function unquoted(text: string): string {
  return /^".*"$/s.test(text) ? text.slice(1, -1).replaceAll(/\\(.)/g, '$1') : text.replace(/^'(.*)'$/s, '$1');
}

/**
 * A property of objects, such as the cluster or namespace. The page counts its values, and a click on a value adds it
 * to the query.
 */
export interface Facet {
  readonly title: string;
  /** Column or field path by which the index groups objects. */
  readonly by: string;
  /** What the search bar writes before a value: `cluster:` in `cluster:staging`. */
  readonly prefix: string;
}

/** The facets that are offered for a resource type. */
export function facetsOf(kind: Kind): readonly Facet[] {
  return [
    { title: 'Cluster', by: 'cluster', prefix: 'cluster:' },
    ...(kind.namespaced ? [{ title: 'Namespace', by: 'namespace', prefix: 'ns:' }] : []),
    ...(['pods', 'namespaces', 'persistentvolumes', 'persistentvolumeclaims'].includes(kind.id)
      ? [{ title: 'Phase', by: 'status.phase', prefix: 'phase=' }]
      : [{ title: 'App', by: "metadata.labels['app']", prefix: 'label:app=' }]),
    ...(kind.id === 'pods' ? [{ title: 'Waiting', by: waitingPath, prefix: 'waiting=' }] : []),
  ];
}

/** The values of a facet that the text of the search bar contains. */
export function chosenOf(facet: Facet, text: string): readonly string[] {
  return wordsOf(text)
    .filter((word) => word.startsWith(facet.prefix))
    .flatMap((word) => word.slice(facet.prefix.length).split(','));
}

/** Returns the text without the words that belong to a facet. */
export function withoutFacet(facet: Facet, text: string): string {
  return wordsOf(text)
    .filter((word) => !word.startsWith(facet.prefix))
    .join(' ');
}

/**
 * Returns the text of the search bar after a click on a value of a facet: the value is added, or removed when the text
 * contains it.
 */
export function toggled(facet: Facet, value: string, text: string): string {
  const chosen = chosenOf(facet, text);
  const isOne = !facet.prefix.endsWith(':');
  const next = chosen.includes(value) ? chosen.filter((each) => each !== value) : isOne ? [value] : [...chosen, value];
  const word = next.length === 0 ? '' : facet.prefix + next.join(',');
  return `${withoutFacet(facet, text)} ${word}`.trim();
}

/**
 * Returns the kubectl command that lists the same objects as the view. If kubectl has no flag for a filter, the command
 * is `kubectl get --raw`.
 */
export function kubectlLine(kind: Kind, path: string, parameters: URLSearchParams): string {
  const names = new Set(parameters.keys());
  const namespaces = parameters.get('namespaces')?.split(',') ?? [];
  const labels = parameters.getAll('labelSelector');
  names.delete('labelSelector');
  if (namespaces.length === 1) names.delete('namespaces');
  if (names.size > 0) return `kubectl --context portcullis get --raw ${quoted(`${path}?${parameters}`)}`;
  const where = !kind.namespaced ? '' : namespaces.length === 1 ? ` -n ${quoted(namespaces[0]!)}` : ' -A';
  const selected = labels.length === 0 ? '' : ` -l ${quoted(labels.join(','))}`;
  return `kubectl --context portcullis-all get ${kind.id}${where}${selected}`;
}

/** Quotes a word for a POSIX shell, if it needs quotes. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
