// Turns the text of the search bar into a question to the index. The words of the bar are the filters of the index's
// API, so a question that the bar shows can be given to kubectl as well.
import type { Kind } from '../kube.ts';

/** A question to the index about one kind. */
export interface Question {
  /** The words of the text without the one that names the kind. */
  readonly words: readonly string[];
  /** The kind that the text names by `kind:`; it wins over the kind that is chosen beside the bar. */
  readonly kind: string | undefined;
  /** Query parameters for the index's API. */
  readonly parameters: URLSearchParams;
}

/** The parameter of the index's API for each word that may stand before a colon, such as `ns` in `ns:shop`. */
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
/** Parameters that are sent once for each value; the others take all their values in one, separated by commas. */
const repeated: ReadonlySet<string> = new Set(['nameContains', 'text', 'filter']);

/** Splits a text at blanks, but not inside of quotes. */
export function wordsOf(text: string): readonly string[] {
  return [...text.matchAll(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word);
}

/** Why the containers of a Pod wait: CrashLoopBackOff, ImagePullBackOff and the like. */
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

/** A property, such as the cluster or namespace, by whose values a click narrows the question. */
export interface Facet {
  readonly title: string;
  /** Column or path that the index groups by. */
  readonly by: string;
  /** What the search bar writes before a value: `cluster:` in `cluster:staging`. */
  readonly prefix: string;
}

/** The facets by which a question about a kind can be narrowed. */
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

/** The values of a facet that the text names already. */
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
 * Returns the text after a click on a value of a facet: the value is added, or removed when the text has it already.
 */
export function toggled(facet: Facet, value: string, text: string): string {
  const chosen = chosenOf(facet, text);
  const isOne = !facet.prefix.endsWith(':');
  const next = chosen.includes(value) ? chosen.filter((each) => each !== value) : isOne ? [value] : [...chosen, value];
  const word = next.length === 0 ? '' : facet.prefix + next.join(',');
  return `${withoutFacet(facet, text)} ${word}`.trim();
}

/**
 * Returns the kubectl command that lists the same objects as the view. Filters that kubectl has no flag for are sent by
 * `kubectl get --raw`.
 */
export function kubectlLine(kind: Kind, path: string, parameters: URLSearchParams): string {
  const names = new Set(parameters.keys());
  const namespaces = parameters.get('namespaces')?.split(',') ?? [];
  const labels = parameters.getAll('labelSelector');
  names.delete('labelSelector');
  if (namespaces.length === 1) names.delete('namespaces');
  if (names.size > 0) return `kubectl --context portcullis get --raw ${quoted(`${path}?${parameters}`)}`;
  const where = !kind.namespaced ? '' : namespaces.length === 1 ? ` -n ${namespaces[0]}` : ' -A';
  const selected = labels.length === 0 ? '' : ` -l ${quoted(labels.join(','))}`;
  return `kubectl --context portcullis-all get ${kind.id}${where}${selected}`;
}

/** Quotes a word for a POSIX shell, if it needs quotes. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
