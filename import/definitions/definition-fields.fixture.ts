// Takes a CustomResourceDefinition apart, so that two of them can be compared field by field.

/**
 * Every value in a definition's `spec`, as JSON, by its path, such as `.scope` or `.versions.0.name`. Descriptions are
 * left out: they change nothing of what the API server accepts, shows or stores.
 */
export function definitionFields(definition: { readonly spec: object }): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  collect(definition.spec, '', fields);
  return fields;
}

function collect(value: unknown, path: string, fields: Map<string, string>): void {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (entries.length === 0) fields.set(path, JSON.stringify(value));
  for (const [key, each] of entries) {
    // Only a text at `description` is a description. A field of the type that has this name has a schema there, an
    // object.
    if (key !== 'description' || typeof each !== 'string') collect(each, `${path}.${key}`, fields);
  }
}
