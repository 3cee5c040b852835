// The one name that a list or watch is about when its field selector pins it. Authorization by name (`resourceNames`)
// uses it, as in kube-apiserver's RequestInfo. Easy to get wrong: a name found where kube-apiserver finds none lets
// somebody who may list one object ask for all of them. So a query that is not plain has no name.

/** First value of a query parameter, or undefined. */
export type QueryReader = (key: string) => string | undefined;

/** Label selectors that `labels.Parse` accepts for certain. */
const plainLabels =
  /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?(?:=|==|!=)(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?(?:,(?!$)|$))*$/;
/** At most 18 digits: what Go's ParseInt takes for 64 bits, without the edge. */
const plainNumber = /^[+-]?\d{1,18}$/;

/**
 * The name, as `fields.Selector.RequiresExactMatch("metadata.name")` gives it, or undefined. A query of which any list
 * option cannot be decoded pins nothing (requestinfo.go), nor does a selector with escapes or with two names, which Go
 * would sort.
 */
export function pinnedName(read: QueryReader): string | undefined {
  const selector = read('fieldSelector');
  if (selector === undefined || !selector.includes('metadata.name') || selector.includes('\\')) return undefined;
  if (!isPlain(read)) return undefined;
  const name = nameIn(selector);
  if (name === undefined || name === '' || name === '.' || name === '..') return undefined;
  // Not a path segment, or bytes that are not UTF-8, which Go keeps as they are.
  return /[/%\ufffd]/.test(name) ? undefined : name;
}

/** True when kube-apiserver certainly decodes the other list options without an error. */
function isPlain(read: QueryReader): boolean {
  for (const option of ['limit', 'timeoutSeconds']) {
    const value = read(option);
    if (value !== undefined && !plainNumber.test(value)) return false;
  }
  return plainLabels.test(read('labelSelector') ?? '');
}

/** The one name of a selector; undefined for none, for two, and for a term that cannot be read. */
function nameIn(selector: string): string | undefined {
  let name: string | undefined;
  for (const term of selector.split(',')) {
    if (term === '') continue;
    // The operator is the first there is: "!=", "==" or "=". A value holds no further "=".
    const match = /^([^=!]*(?:!(?!=)[^=!]*)*)(!=|==?)([^=]*)$/.exec(term);
    if (match === null) return undefined;
    if (match[1] !== 'metadata.name' || match[2] === '!=') continue;
    if (name !== undefined && name !== match[3]) return undefined;
    name = match[3]!;
  }
  return name;
}
