// The query's lists of namespaces, by which every store finds rows quickly. Conditions on the field
// `metadata.namespace` are turned into these lists.
import type { ListQuery } from '../query/list-query.ts';

/**
 * Replaces conditions on `metadata.namespace` by the lists `namespaces` and `notNamespaces`. The value '' is dropped:
 * in the lists it would match cluster-scoped objects, which do not have the field.
 */
export function narrowNamespaces(query: ListQuery): ListQuery {
  let { namespaces, notNamespaces } = query;
  const fields = query.fields.filter(({ path, operator, values }) => {
    const [metadata, key] = path;
    if (path.length !== 2 || metadata!.kind !== 'key' || metadata!.key !== 'metadata') return true;
    if (key!.kind !== 'key' || key!.key !== 'namespace') return true;
    if (operator === 'Equals' || operator === 'In') {
      const wanted = values.filter((value) => value !== '');
      namespaces = namespaces === undefined ? wanted : namespaces.filter((namespace) => wanted.includes(namespace));
      return false;
    }
    if (operator === 'NotEquals' || operator === 'NotIn') {
      notNamespaces = [...(notNamespaces ?? []), ...values.filter((value) => value !== '')];
      return false;
    }
    return true;
  });
  if (fields.length === query.fields.length) return query;
  return {
    ...query,
    fields,
    ...(namespaces === undefined ? {} : { namespaces }),
    ...(notNamespaces === undefined ? {} : { notNamespaces }),
  };
}

/** A test whether a value is in the first list, or there is no such list, and is not in the second one. */
export function among(
  wanted: readonly string[] | undefined,
  unwanted: readonly string[] = [],
): (value: string) => boolean {
  const yes = wanted === undefined ? undefined : new Set(wanted);
  const no = new Set(unwanted);
  return (value) => !no.has(value) && (yes === undefined || yes.has(value));
}
