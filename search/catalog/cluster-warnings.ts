// Makes warnings about clusters whose rows are missing, outdated or hidden. A warning may only name clusters that the
// caller may reach, and types of which the caller may see something. Which other types a cluster has, and why the index
// cannot read them, must not be revealed.
import { listed } from '../../lib/text/listed.ts';
import type { ScopeAnswer } from '../../rights/scopes.ts';
import type { PartState, TypeState } from '../../sync/member/sync-types.ts';
import { typeKey } from '../../query/types.ts';
import type { ResourceType } from '../../query/types.ts';
import { typeName } from '../../sync/member/member-paths.ts';
import type { Warning } from '../answer/answer-body.ts';
import type { Catalog } from './catalog.ts';
import { scopeConcerns } from '../request/visible.ts';

/** A warning about pruned fields names at most this number of clusters. */
const mostNamed = 3;

/** The clusters that a request names: one in its path, or several in its query. */
interface NamedClusters {
  readonly cluster: string | undefined;
  readonly clusters: readonly string[] | undefined;
}

function isNamed({ cluster, clusters }: NamedClusters, name: string): boolean {
  return (cluster === undefined || cluster === name) && (clusters === undefined || clusters.includes(name));
}

function clustersText(names: readonly string[]): string {
  return `${names.length === 1 ? 'cluster' : 'clusters'} ${listed(names.toSorted(), mostNamed)}`;
}

/**
 * The warnings about fields that were dropped before objects were stored: one for each type and set of fields. Only
 * clusters of which the caller may see objects of the type are named.
 */
export function prunedWarnings(
  catalog: Catalog,
  types: readonly ResourceType[],
  named: NamedClusters,
  scope: ScopeAnswer['scope'],
): readonly Warning[] {
  const lacking = types.flatMap((type) =>
    catalog.of(typeKey(type)).flatMap(({ incarnation, type: { pruned = [] } }) => {
      const isShown = pruned.length > 0 && isNamed(named, incarnation.cluster);
      if (!isShown || !scopeConcerns(scope, incarnation.id, typeKey(type))) return [];
      return [{ what: typeName(type), without: pruned.join(', '), cluster: incarnation.cluster }];
    }),
  );
  const groups = Map.groupBy(lacking, ({ what, without }) => JSON.stringify([what, without]));
  return [...groups.values()].map((group) => {
    const { what, without } = group[0]!;
    const of = clustersText(group.map((each) => each.cluster));
    const text = `${what} of ${of} are kept without ${without}: selectors and columns see these fields missing; edit such an object in its cluster, never from a copy`;
    return { cluster: undefined, text };
  });
}

/**
 * The warnings about clusters that serve a type and of which the index does not hold it, while it does of others: one
 * for each type. Only clusters in which the caller may see objects of the type are named.
 */
export function unheldWarnings(
  catalog: Catalog,
  types: readonly ResourceType[],
  named: NamedClusters,
  scope: ScopeAnswer['scope'],
): readonly Warning[] {
  return types.flatMap((type) => {
    const key = typeKey(type);
    const names = catalog
      .liveOf(key)
      .filter(({ incarnation }) => isNamed(named, incarnation.cluster) && scopeConcerns(scope, incarnation.id, key))
      .map(({ incarnation }) => incarnation.cluster);
    if (names.length === 0) return [];
    const text = `${typeName(type)} of ${clustersText(names)} are not in the index; ask /clusters/<name>/proxy`;
    return [{ cluster: undefined, text }];
  });
}

/** The requested types, and the requested clusters. `clusters` is undefined when the request names none. */
export interface AskedOf {
  readonly types: readonly ResourceType[];
  readonly clusters: readonly string[] | undefined;
}

/**
 * The warnings of one answer, sorted by cluster. Each cluster has at most one warning for each kind of fault, even when
 * many types have the fault.
 */
export function clusterWarnings(
  { types, clusters }: AskedOf,
  { hidden, reachable, unread, scope }: ScopeAnswer,
  states: readonly PartState[],
  nowMs: number,
): readonly Warning[] {
  const isAsked = (cluster: string): boolean => clusters === undefined || clusters.includes(cluster);
  const keys = new Set(types.map(typeKey));
  const hiddenNames = new Set(hidden.map(({ cluster }) => cluster));
  const warnings: Warning[] = hidden
    .filter(({ cluster }) => isAsked(cluster))
    .map(({ cluster, message }) => ({ cluster, text: message }));
  for (const state of states) {
    const { cluster } = state;
    // Most clusters need no warning, so they are skipped early.
    if (!unread.has(cluster) && isFine(state)) continue;
    if (hiddenNames.has(cluster) || !reachable.has(cluster) || !isAsked(cluster)) continue;
    const isOut = state.fault?.reason === 'InvalidOptions';
    const texts = isOut
      ? [outOfIndex]
      : unread.has(cluster)
        ? [notIndexed(state)]
        : faultsOf(state, keys, scope, nowMs);
    for (const text of texts) warnings.push({ cluster, text });
  }
  return warnings.toSorted((one, other) => ((one.cluster ?? '') < (other.cluster ?? '') ? -1 : 1));
}

/**
 * The warning for a cluster whose index options are invalid. It does not name the option, because not every caller may
 * know it: only those who may read the Cluster object see its condition Indexed.
 */
const outOfIndex =
  'nothing of it is indexed: an index option of it cannot be read; its condition Indexed says which (kubectl get clusters)';

function isFine({ fault, types }: PartState): boolean {
  return (
    fault === undefined && types.every((type) => type.isWhole && type.fault === undefined && type.leftOut === undefined)
  );
}

/** The warning for a cluster that is not read yet. The caller's rights there are unknown, so it names no type. */
function notIndexed({ fault }: PartState): string {
  return `not indexed yet${fault === undefined ? '' : `: ${fault.message}`}`;
}

function faultsOf(
  state: PartState,
  keys: ReadonlySet<string>,
  scope: ScopeAnswer['scope'],
  nowMs: number,
): readonly string[] {
  const mayKnow = ({ type }: TypeState): boolean => scopeConcerns(scope, state.incarnation?.id ?? '', typeKey(type));
  const mine = state.types.filter((each) => each.isChosen && keys.has(typeKey(each.type)) && mayKnow(each));
  const texts: string[] = [];
  const missing = mine.filter(({ isWhole }) => !isWhole);
  if (missing.length > 0)
    texts.push(`${named(missing)} not indexed yet${progressOf(missing, state, scope)}${faultText(missing, state)}`);
  else if (!state.hasTypes && state.fault !== undefined) texts.push(notIndexed(state));
  const old = mine.filter(({ isWhole, phase, fault }) => {
    if (!isWhole) return false;
    // The reason `Store` means that the index store cannot be written. Its rows are outdated, although the cluster is
    // being watched.
    const isLate = phase === 'failing' || phase === 'stopped' || fault?.reason === 'Store';
    return state.fault !== undefined || (fault !== undefined && isLate);
  });
  if (old.length > 0) {
    const oldest = Math.min(...old.map(({ confirmedAtMs }) => confirmedAtMs ?? 0));
    const age = oldest === 0 ? '' : ` as of ${ageText(nowMs - oldest)} ago`;
    texts.push(`${named(old)} shown${age}${faultText(old, state)}`);
  }
  texts.push(...leftOutTexts(mine, state, scope));
  return texts;
}

/**
 * The warning for objects that the index cannot store. Who may see all objects of a type is told how many there are,
 * and one of them. Anyone else is told only that some may be missing, because an object may be one that they may not
 * see.
 */
function leftOutTexts(types: readonly TypeState[], state: PartState, scope: ScopeAnswer['scope']): readonly string[] {
  const lacking = types.filter(({ leftOut }) => leftOut !== undefined);
  if (lacking.length === 0) return [];
  const known = lacking.filter(seesAll(state, scope)).map(({ leftOut }) => leftOut!);
  if (known.length < lacking.length) return [`some ${named(lacking)} may be missing: the index cannot store them`];
  const count = known.reduce((sum, { count: each }) => sum + each, 0);
  const objects = count === 1 ? 'object is' : 'objects are';
  return [`${count} ${objects} missing in ${named(lacking)}, the index cannot store such: ${known[0]!.example}`];
}

function named(types: readonly TypeState[]): string {
  const names = types.map(({ type }) => typeName(type));
  return names.length <= 3 ? names.join(', ') : `${names.length} types`;
}

/** Whether the caller may see all objects of a type. Only then may the caller learn how many objects the type has. */
function seesAll({ incarnation }: PartState, { grants }: ScopeAnswer['scope']): (state: TypeState) => boolean {
  const mine = grants.get(incarnation?.id ?? '');
  return ({ type }) => mine?.get(typeKey(type)) === 'all';
}

function progressOf(types: readonly TypeState[], state: PartState, scope: ScopeAnswer['scope']): string {
  const [only] = types;
  if (types.length !== 1 || only?.listed === undefined || !seesAll(state, scope)(only)) return '';
  return ` (${only.listed.done} of ${only.listed.of} objects)`;
}

function faultText(types: readonly TypeState[], state: PartState): string {
  const fault = state.fault ?? types.find((type) => type.fault !== undefined)?.fault;
  return fault === undefined ? '' : `: ${fault.message}`;
}

/** A duration as text, such as `5s`, `12m` or `3h`. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds / 3600)}h`;
}
