// One step of a path into a JSON document.

/** A key of an object, one element of a list, or every element of a list. */
export type PathStep =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'each' };
