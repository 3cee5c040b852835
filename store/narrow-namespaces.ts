// Turns conditions on the field `metadata.namespace` into the lists of namespaces that a query has. By these lists
// every store finds rows quickly.
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
