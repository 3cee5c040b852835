// The owner of an object among its owner references.

/** The uid of the reference with `controller: true` in `metadata.ownerReferences`; '' when there is none. */
export function controllerOf(references: unknown): string {
  if (!Array.isArray(references)) return '';
  const owner = (references as readonly { readonly controller?: unknown; readonly uid?: unknown }[]).find(
    (reference) => reference?.controller === true,
  );
  return typeof owner?.uid === 'string' ? owner.uid : '';
}
