// Decides which cluster has which name, over all sources together. A name stays with the cluster that has it, so that
// nobody can take the requests of others by registering a second cluster under its name. Among clusters that are read
// together the oldest registration has the name, whatever the order in which files or objects are listed.
import { conflictName } from './cluster-names.ts';
import type { ClusterSpec } from './records.ts';
import { oneLine } from '../lib/text/one-line.ts';

/** The names that clusters have in the store now. */
export interface NameHolders {
  /** The name that the cluster with this uid has now; undefined when it has none. */
  heldName(uid: string): string | undefined;
  /**
   * The uids of clusters that are new to the store and come with the first reading of their source. Such a cluster
   * takes its name from a younger cluster that has the name already, so that the order in which sources are read makes
   * no difference.
   */
  readonly firstRead: ReadonlySet<string>;
}

/**
 * Gives every cluster a name. Returns the specs by name; a spec whose name is another than the one it asked for is
 * replaced. A cluster that gets no name of its own is listed under a {@link conflictName} without a credential.
 * @param specs all clusters of all sources, sources in their order
 * @throws Error when two specs have the same uid
 */
export function nameClusters(specs: readonly ClusterSpec[], holders: NameHolders): Map<string, ClusterSpec> {
  refuseEqualUids(specs);
  const givenFolds = oldestOfFolds(specs);
  const names = new Map<ClusterSpec, string>();
  // The cluster that owns each name. A cluster with a `digestName` owns this name even while its name is the shorter
  // `name`: its name may have been the `digestName` before, and clients may still use it.
  const owners = new Map<string, ClusterSpec>();
  const own = (name: string | undefined, spec: ClusterSpec): boolean => {
    if (name === undefined || name === '' || owners.has(name)) return false;
    owners.set(name, spec);
    return true;
  };
  const isChallenged = challengedBy(specs, holders, givenFolds);
  for (const spec of specs) {
    const held = holders.heldName(spec.uid);
    if (held === undefined || (held !== spec.name && held !== spec.digestName) || isChallenged(held, spec)) continue;
    names.set(spec, held);
    owners.set(held, spec);
  }
  for (const spec of names.keys()) {
    const { digestName } = spec;
    if (digestName !== undefined && !isChallenged(digestName, spec)) own(digestName, spec);
  }

  const losers: ClusterSpec[] = [];
  for (const spec of specs.filter((each) => !names.has(each)).sort(byRank)) {
    const { name, digestName } = spec;
    const hasDigestName = own(digestName, spec);
    if ((digestName === undefined || givenFolds.get(name) === spec) && own(name, spec)) names.set(spec, name);
    else if (hasDigestName) names.set(spec, digestName!);
    else losers.push(spec);
  }
  return specsByName(specs, names, losers, owners);
}

function specsByName(
  specs: readonly ClusterSpec[],
  names: ReadonlyMap<ClusterSpec, string>,
  losers: readonly ClusterSpec[],
  owners: Map<string, ClusterSpec>,
): Map<string, ClusterSpec> {
  const named = new Map<string, ClusterSpec>();
  for (const spec of specs) {
    const name = names.get(spec);
    if (name !== undefined) named.set(name, name === spec.name ? spec : { ...spec, name });
  }
  for (const spec of losers) {
    const name = conflictName(spec.name, owners);
    owners.set(name, spec);
    named.set(name, { ...spec, name, credential: undefined, problem: spec.problem ?? conflictOf(spec, owners) });
  }
  return named;
}

function refuseEqualUids(specs: readonly ClusterSpec[]): void {
  const uids = new Set<string>();
  for (const { uid, sourceDetail } of specs) {
    if (uids.has(uid)) throw new Error(`two clusters have the uid ${uid}, one is ${sourceDetail}`);
    uids.add(uid);
  }
}

/**
 * For each name that results from changing invalid original names: the oldest cluster that asks for it, or undefined
 * when several are equally old. Then none of them gets the name, since only the order of contexts in the file could
 * decide, and `kubectl config use-context` changes this order.
 */
function oldestOfFolds(specs: readonly ClusterSpec[]): ReadonlyMap<string, ClusterSpec | undefined> {
  const ages = new Map<string, string>();
  const oldest = new Map<string, ClusterSpec | undefined>();
  for (const spec of specs) {
    if (spec.digestName === undefined) continue;
    const age = ages.get(spec.name);
    if (age !== undefined && age < ageOf(spec)) continue;
    ages.set(spec.name, ageOf(spec));
    oldest.set(spec.name, age === ageOf(spec) ? undefined : spec);
  }
  return oldest;
}

/**
 * Returns a function that tells whether an older cluster, which comes with the first reading of its source, asks for a
 * name that another cluster has now.
 */
function challengedBy(
  specs: readonly ClusterSpec[],
  { firstRead }: NameHolders,
  givenFolds: ReadonlyMap<string, ClusterSpec | undefined>,
): (name: string, holder: ClusterSpec) => boolean {
  const ages = new Map<string, string>();
  for (const spec of firstRead.size === 0 ? [] : specs) {
    if (!firstRead.has(spec.uid)) continue;
    const { name, digestName } = spec;
    const asked = digestName === undefined || givenFolds.get(name) === spec ? [name, digestName] : [digestName];
    for (const each of asked) {
      const age = each === undefined ? undefined : ages.get(each);
      if (each !== undefined && (age === undefined || ageOf(spec) < age)) ages.set(each, ageOf(spec));
    }
  }
  return (name, holder) => {
    const age = ages.get(name);
    return age !== undefined && age < ageOf(holder);
  };
}

/** Time of registration as RFC 3339 text. A context of the operator's own kubeconfig files has none and comes first. */
function ageOf({ registeredAt }: ClusterSpec): string {
  return registeredAt ?? '';
}

/**
 * Compares for sorting: the older cluster first; of equally old clusters, one with a valid original name before one
 * whose name had to be changed.
 */
function byRank(one: ClusterSpec, other: ClusterSpec): number {
  const [a, b] = [ageOf(one), ageOf(other)];
  if (a !== b) return a < b ? -1 : 1;
  return Number(one.digestName !== undefined) - Number(other.digestName !== undefined);
}

function conflictOf(spec: ClusterSpec, owners: ReadonlyMap<string, ClusterSpec>): ClusterSpec['problem'] {
  const name = owners.has(spec.name) ? spec.name : (spec.digestName ?? spec.name);
  const owner = owners.get(name);
  const has = owner === undefined ? 'another cluster' : `${owner.sourceDetail}${written('', owner, name)}`;
  const message = `the name "${name}" already belongs to ${has}; rename one of them${written('this one is ', spec, name)}`;
  return { reason: 'NameConflict', message };
}

/** The name as the source wrote it, in brackets; '' when it is the same. */
function written(before: string, { originalName }: ClusterSpec, name: string): string {
  return originalName === name ? '' : ` (${before}"${oneLine(originalName)}")`;
}
