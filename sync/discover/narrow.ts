// Applies the options of a cluster to one of its types: whether the type is indexed at all, which of its objects are,
// and which of their fields are dropped.
import { typeKey, type TypeInfo, type TypeKey } from '../../query/types.ts';
import { rbacGroup } from '../../lib/objects/api-names.ts';
import type { TypeFilter } from '../member/sync-types.ts';
import type { IndexOptions } from './index-options.ts';
import { isMeant, type NamedResource } from './resource-entries.ts';

/** The part of a type that options leave to be indexed. */
export interface Narrowed {
  readonly filter: TypeFilter;
  /** Fields that are dropped before objects are stored, sorted. */
  readonly pruned: readonly string[];
}

/** Types that serve the same objects in two API groups. An option for one of them applies to the other as well. */
const twins: ReadonlyMap<TypeKey, TypeKey> = new Map([
  ['events.', 'events.events.k8s.io'],
  ['events.events.k8s.io', 'events.'],
]);

/**
 * Returns the part of a type that the options leave to be indexed.
 * @param chosen the filter with which the type was chosen
 * @returns undefined when no object of the type is to be indexed
 */
export function narrowed(type: TypeInfo, chosen: TypeFilter, options: IndexOptions): Narrowed | undefined {
  const twin = twinOf(type);
  const concerns = (entry: NamedResource): boolean =>
    isMeant(type, entry) || (twin !== undefined && isMeant(twin, entry));
  const exclusions = options.exclude.filter(concerns);
  if (exclusions.some(({ namespaces, names }) => namespaces === undefined && names === undefined)) return undefined;
  const selects = options.select.filter(concerns).map(({ filter }) => filter);
  const pruned = distinct(options.prune.filter(concerns).flatMap((each) => each.fields));
  // The filter is returned unchanged. It is part of the stored `keptAs` text, so the same filter in another spelling
  // would cause all rows to be listed again.
  if (selects.length === 0 && exclusions.length === 0) return { filter: chosen, pruned };
  const filter = joined(
    [chosen, ...selects],
    exclusions.flatMap(({ namespaces = [] }) => (type.namespaced ? namespaces : [])),
    exclusions.flatMap(({ names = [] }) => names),
  );
  return filter && { filter, pruned };
}

function twinOf(type: TypeInfo): TypeInfo | undefined {
  const twin = twins.get(typeKey(type));
  return twin === undefined ? undefined : { ...type, group: twin.slice(twin.indexOf('.') + 1) };
}

/** Joins filters into one that accepts what all of them accept; undefined when no object could pass. */
function joined(
  filters: readonly TypeFilter[],
  notNamespaces: readonly string[],
  notNames: readonly string[],
): TypeFilter | undefined {
  const namespaces = common(
    filters.map((filter) => filter.namespaces),
    notNamespaces,
  );
  const names = common(
    filters.map((filter) => filter.names),
    notNames,
  );
  if (namespaces?.length === 0 || names?.length === 0) return undefined;
  const labels = filters.flatMap((filter) => filter.labels ?? []);
  return {
    ...(namespaces && { namespaces }),
    ...(names && { names }),
    ...(labels.length > 0 && { labels: labels.join() }),
    ...(namespaces === undefined && notNamespaces.length > 0 && { notNamespaces: distinct(notNamespaces) }),
    ...(names === undefined && notNames.length > 0 && { notNames: distinct(notNames) }),
  };
}

/**
 * The names that occur in every list, without those in `not`. Undefined lists are ignored; the result is undefined when
 * all lists are.
 */
function common(
  lists: readonly (readonly string[] | undefined)[],
  not: readonly string[],
): readonly string[] | undefined {
  const [first, ...others] = lists.filter((list) => list !== undefined);
  return first?.filter((name) => !not.includes(name) && others.every((list) => list.includes(name)));
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)].toSorted();
}

/** Fields of Roles, ClusterRoles and their bindings by which access is decided. */
const decisiveFields: ReadonlySet<string> = new Set(['rules', 'roleRef', 'subjects', 'aggregationRule']);

/**
 * Whether a type that decides access (RBAC objects, namespaces, CRDs) may appear in answers. Its objects are always
 * stored whole, because access is decided with them. So when options would leave out some of its objects, or fields
 * that decide access, the type is not shown at all.
 */
export function canBeShownWhole({ group, namespaced }: TypeInfo, { filter, pruned }: Narrowed): boolean {
  const { namespaces, notNamespaces, ...others } = filter;
  const isWhole = Object.keys(others).length === 0 && (!namespaced || (namespaces ?? notNamespaces) === undefined);
  return isWhole && !(group === rbacGroup && pruned.some((path) => decisiveFields.has(/^[^.[]*/.exec(path)![0])));
}
