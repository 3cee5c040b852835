// Shows for each cluster whether its objects are in the index: in the cluster record, which `kubectl get clusters` and
// watches of clusters show, and in one line when the gateway starts. Every change of a record is an event for all
// watchers, so the progress of a first list is shown only in steps of ten percent.
import { listed } from '../../lib/text/listed.ts';
import type { ClusterSpec, ClusterStatus } from '../../model/records.ts';
import type { ClusterStore } from '../../model/store.ts';
import type { Index } from '../../search/index.ts';
import { indexedOf } from '../../sync/indexed.ts';
import type { Indexed } from '../../sync/indexed.ts';
import { mendCommand } from '../../sync/member/read-as.ts';

type Followed = Pick<Index, 'state' | 'onChange' | 'settled'>;
type Records = Pick<ClusterStore, 'list' | 'getByUid' | 'setStatus'>;

/** The resources that `--index-resources` names; undefined when the flag was not given. */
type Resources = readonly string[] | undefined;

/**
 * For how many milliseconds changes of the index are collected before they are written to the cluster records, so that
 * many changes become one update.
 */
const gatherMs = 100;
/** Milliseconds between two readings of the progress of first lists. The index has no event for this progress. */
const progressMs = 2_000;
/**
 * How many times `forbiddenLine` waits for clusters whose objects are still being listed for the first time, before it
 * reports what is known.
 */
const settlingRounds = 4;
const namedClusters = 5;

/**
 * Keeps the index status in all cluster records up to date; `kubectl get clusters` shows it.
 * @returns a function that ends the updates
 */
export function showIndexed(index: Followed, records: Records, resources: Resources): () => void {
  let gathering: NodeJS.Timeout | undefined;
  let isSyncing = false;
  let tookMs = 0;
  const show = (): void => {
    const startedMs = performance.now();
    gathering = undefined;
    isSyncing = false;
    const states = new Map(index.state().map((state) => [state.uid, state]));
    for (const { spec, status } of records.list()) {
      const state = states.get(spec.uid);
      const { indexed: before, ...rest } = status;
      const found = state === undefined ? sameCluster(spec) : indexedOf(state, grantCommandOf(spec, resources));
      const indexed = found && statusOf(found, before);
      isSyncing ||= indexed?.condition.reason === 'Syncing';
      if (indexed !== before) records.setStatus(spec.uid, indexed === undefined ? rest : { ...rest, indexed });
    }
    tookMs = performance.now() - startedMs;
  };
  // With thousands of clusters, updating all records takes a while. So that updates do not take all CPU time, the pause
  // before the next update is at least twenty times as long as the last update took.
  const gather = (): void => void (gathering ??= setTimeout(show, Math.max(gatherMs, tookMs * 20)).unref());
  const unsubscribe = index.onChange(gather);
  const timer = setInterval(() => isSyncing && gather(), progressMs).unref();
  gather();
  return () => {
    unsubscribe();
    clearInterval(timer);
    clearTimeout(gathering);
  };
}

/**
 * The index status of a cluster that was registered twice, whose objects are in the index under its other name;
 * undefined for other clusters.
 */
function sameCluster({ sameAs }: ClusterSpec): Indexed | undefined {
  if (sameAs === undefined) return undefined;
  const message = `its objects are in the index as cluster "${sameAs.name}" (${sameAs.sourceDetail}), which was registered first`;
  return { summary: '-', status: 'False', reason: 'SameCluster', message };
}

/** The new index status of a cluster; the same object as `before` when nothing has changed. */
function statusOf({ summary, ...shown }: Indexed, before: ClusterStatus['indexed']): ClusterStatus['indexed'] {
  if (before?.summary === summary && before.condition.message === shown.message) return before;
  const isSame = before?.condition.status === shown.status;
  const lastTransitionTime = isSame
    ? before.condition.lastTransitionTime
    : new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  return Object.freeze({ summary, condition: Object.freeze({ type: 'Indexed', ...shown, lastTransitionTime }) });
}

/**
 * The command with which an administrator gives the index the right to read a cluster. For a cluster from a kubeconfig,
 * the command names the context.
 */
function grantCommandOf(spec: ClusterSpec | undefined, resources: Resources): string {
  return mendCommand(spec?.source === 'kubeconfig' ? spec.originalName : undefined, resources);
}

/**
 * A line for the operator: which clusters forbid the index to read, and the command that grants the right. Undefined
 * when the index may read all clusters.
 */
export async function forbiddenLine(
  index: Followed,
  records: Records,
  resources: Resources,
): Promise<string | undefined> {
  for (let round = 0; round < settlingRounds; round += 1) await index.settled();
  const states = index.state();
  const found = states.filter((state) => indexedOf(state).summary === 'Forbidden');
  if (found.length === 0) return undefined;
  const names = found.map(({ cluster }) => cluster);
  const spec = found.length === 1 ? records.getByUid(found[0]!.uid)?.spec : undefined;
  const command = grantCommandOf(spec, resources);
  return `The index cannot follow ${found.length} of ${states.length} clusters (${listed(names, namedClusters)}): they forbid it to read. For each, an administrator runs: ${command}`;
}
