// What somebody types into the search bar, as the question that the index is asked: the words of the bar are the
// filters of the index's API, so what the bar shows can be given to kubectl as well.
import type { Kind } from '../kube.ts';

/** A question to the index about one kind. */
export interface Question {
  /** What is left of the text after the kind was taken out, word by word. */
  readonly words: readonly string[];
  /** A kind that the text names by `kind:`; it wins over the one that is chosen beside the bar. */
  readonly kind: string | undefined;
  /** Parameters of the index's API. */
  readonly parameters: URLSearchParams;
}

/** Words that stand for a parameter: `ns:shop`. */
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
/** Parameters that may be sent more than once; the others gather their values with commas. */
const repeated: ReadonlySet<string> = new Set(['nameContains', 'text', 'filter']);

/** Splits at blanks, but not inside of quotes. */
export function wordsOf(text: string): readonly string[] {
  return [...text.matchAll(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word);
}

/** Short names of paths: `image~redis`, `phase=Failed`, `node=n1`. */
function longPath(path: string, plural: string): string {
  if (path === 'image') return plural === 'pods' ? 'spec.containers[].image' : 'spec.template.spec.containers[].image';
  if (path === 'phase') return 'status.phase';
  if (path === 'node') return 'spec.nodeName';
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

/** A side of the question that can be narrowed by a click. */
export interface Facet {
  readonly title: string;
  /** Column or path that the index groups by. */
  readonly by: string;
  /** The word for a value: `cluster:staging`. */
  readonly prefix: string;
}

/** What can be narrowed for a kind. */
export function facetsOf(kind: Kind): readonly Facet[] {
  return [
    { title: 'Cluster', by: 'cluster', prefix: 'cluster:' },
    ...(kind.namespaced ? [{ title: 'Namespace', by: 'namespace', prefix: 'ns:' }] : []),
    ...(['pods', 'namespaces', 'persistentvolumes', 'persistentvolumeclaims'].includes(kind.id)
      ? [{ title: 'Phase', by: 'status.phase', prefix: 'phase=' }]
      : [{ title: 'App', by: "metadata.labels['app']", prefix: 'label:app=' }]),
  ];
}

/** The values of a facet that the text has already. */
export function chosenOf(facet: Facet, text: string): readonly string[] {
  return wordsOf(text)
    .filter((word) => word.startsWith(facet.prefix))
    .flatMap((word) => word.slice(facet.prefix.length).split(','));
}

/** The text without the words of a facet. */
export function withoutFacet(facet: Facet, text: string): string {
  return wordsOf(text)
    .filter((word) => !word.startsWith(facet.prefix))
    .join(' ');
}

/** The text after a click on a value: added, or taken away when it was there. */
export function toggled(facet: Facet, value: string, text: string): string {
  const chosen = chosenOf(facet, text);
  const isOne = !facet.prefix.endsWith(':');
  const next = chosen.includes(value) ? chosen.filter((each) => each !== value) : isOne ? [value] : [...chosen, value];
  const word = next.length === 0 ? '' : facet.prefix + next.join(',');
  return `${withoutFacet(facet, text)} ${word}`.trim();
}

/** The command that lists the same rows. What kubectl has no flag for is asked by the path of the API. */
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

/** A word for a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
