// What a query says of namespaces by a field selector, said by its list of namespaces, which every store finds rows by.
import type { ListQuery } from '../query/list-query.ts';

/**
 * Turns conditions on `metadata.namespace` into those on the namespaces of a query; cluster-scoped objects have no such
 * path.
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
