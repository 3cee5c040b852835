// Finds the single name to which the field selector limits a list or watch. As in kube-apiserver's RequestInfo, this
// name is used for authorization by name (`resourceNames`). Security: if the gateway found a name where kube-apiserver
// finds none, somebody who may list one object could list all. So for an unusual query no name is returned.

/** Returns the first value of a query parameter; undefined when it is absent. */
export type QueryReader = (key: string) => string | undefined;

/** Matches only simple label selectors, which Go's `labels.Parse` is certain to accept. */
const plainLabels =
  /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?(?:=|==|!=)(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?(?:,(?!$)|$))*$/;
/** Numbers of at most 18 digits, which Go's ParseInt is certain to accept as a 64-bit integer. */
const plainNumber = /^[+-]?\d{1,18}$/;

/**
 * The name to which a list or watch is limited, as Go's `fields.Selector.RequiresExactMatch("metadata.name")` finds it;
 * undefined when there is no such name. Undefined is also returned when kube-apiserver might not be able to decode a
 * list option (requestinfo.go), or when the selector has escapes or two names.
 */
export function pinnedName(read: QueryReader): string | undefined {
  const selector = read('fieldSelector');
  if (selector === undefined || !selector.includes('metadata.name') || selector.includes('\\')) return undefined;
  if (!isPlain(read)) return undefined;
  const name = nameIn(selector);
  if (name === undefined || name === '' || name === '.' || name === '..') return undefined;
  // No object can have a name with these characters. U+FFFD stands for bytes that are not UTF-8, which Go keeps
  // unchanged.
  return /[/%\ufffd]/.test(name) ? undefined : name;
}

/** True when kube-apiserver is certain to decode `limit`, `timeoutSeconds` and `labelSelector`. */
function isPlain(read: QueryReader): boolean {
  for (const option of ['limit', 'timeoutSeconds']) {
    const value = read(option);
    if (value !== undefined && !plainNumber.test(value)) return false;
  }
  return plainLabels.test(read('labelSelector') ?? '');
}

/**
 * The name in a field selector; undefined when there is none, when there are two, or when a part of the selector cannot
 * be parsed.
 */
function nameIn(selector: string): string | undefined {
  let name: string | undefined;
  for (const term of selector.split(',')) {
    if (term === '') continue;
    // Splits `field=value` at its first operator: "!=", "==" or "=". The value must not contain another "=".
    const match = /^([^=!]*(?:!(?!=)[^=!]*)*)(!=|==?)([^=]*)$/.exec(term);
    if (match === null) return undefined;
    if (match[1] !== 'metadata.name' || match[2] === '!=') continue;
    if (name !== undefined && name !== match[3]) return undefined;
    name = match[3]!;
  }
  return name;
}
