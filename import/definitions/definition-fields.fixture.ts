// Takes a CustomResourceDefinition apart, so that two of them can be compared field by field.

/**
 * Every value of a definition's `spec` by its path, such as `.scope` or `.versions.0.name`, as JSON. Descriptions are
 * left out: they are for people, and change nothing of what the type accepts, shows or stores.
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
    // A field that is called `description` has a schema, which is an object.
    if (key !== 'description' || typeof each !== 'string') collect(each, `${path}.${key}`, fields);
  }
}
