// One step on the way from a JSON document to a part of it.

/** A key of an object, an element of a list, or each of its elements. */
export type PathStep =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'each' };
