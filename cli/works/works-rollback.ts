// `portcullis works rollback`: writes an earlier spec into a ManifestWork on the hub, with the rights of the person who
// runs the command. The hub decides whether the person may, and the executor applies the spec like any other change.
import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import type { Revision } from '../../lib/work-history.ts';
import { Failure } from '../terminal/failure.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { textOf, type HubWorks, type Work, type WorkName } from './hub-works.ts';
import { specDiff } from './work-manifests.ts';
import { historyOf, revisionIn, specOf } from './works-history.ts';

export interface RollbackFlags {
  /** Revision to go back to; undefined for the latest revision whose spec differs from the present one. */
  readonly to?: number;
  readonly dryRun?: boolean;
  readonly output: 'table' | 'json';
}

const replicaSetLabel = 'work.open-cluster-management.io/manifestworkreplicaset';
/**
 * How often the write is tried. The executor often writes the status of the ManifestWork, and each such write makes a
 * new resourceVersion, with which the write of the spec fails.
 */
const attempts = 10;

/**
 * Goes back to an earlier spec.
 * @throws Failure when there is none, when somebody changed the spec meanwhile, or when the hub refuses; then nothing
 * was changed
 */
export async function rollBack(hub: HubWorks, name: WorkName, flags: RollbackFlags, terminal: Terminal): Promise<void> {
  const work = await hub.get(name);
  refuseSets(work, name);
  const present = isJsonObject(work['spec']) ? work['spec'] : {};
  const target = await targetOf(work, present, flags.to, name);
  const spec = specOf(target, name);
  const isSame = isDeepStrictEqual(spec, present);
  const written = isSame ? work : await write(hub, { work, spec, name, dryRun: flags.dryRun === true });
  const { generation } = written.metadata;
  if (flags.output === 'json') {
    const report = { cluster: name.cluster, name: name.name, revision: target.revision, generation };
    terminal.print(`${JSON.stringify({ ...report, changed: !isSame, dryRun: flags.dryRun === true }, null, 4)}\n`);
    return;
  }
  if (isSame) {
    terminal.print(`${textOf(name)} has the spec of revision ${target.revision} already\n`);
    return;
  }
  if (flags.dryRun === true) {
    terminal.print(specDiff(present, spec));
    terminal.note(`${textOf(name)} would get the spec of revision ${target.revision} (dry run)\n`);
    return;
  }
  terminal.print(`${textOf(name)} has the spec of revision ${target.revision} now, as generation ${generation}\n`);
}

/** Refuses a ManifestWork that a ManifestWorkReplicaSet made, which would write the present spec again at once. */
function refuseSets({ metadata: { labels } }: Work, name: WorkName): void {
  const set = labels?.[replicaSetLabel];
  if (set === undefined) return;
  throw new Failure(
    `${textOf(name)} belongs to the ManifestWorkReplicaSet ${set.replace('.', '/')}, which would undo the rollback`,
    'Roll the ManifestWorkReplicaSet back instead.',
  );
}

async function targetOf(work: Work, present: JsonObject, to: number | undefined, name: WorkName): Promise<Revision> {
  const history = await historyOf(work);
  if (to !== undefined) return revisionIn(history, to, name);
  const earlier = history.findLast(
    ({ revision, spec }) => revision !== work.metadata.generation && !isDeepStrictEqual(spec, present),
  );
  if (earlier !== undefined) return earlier;
  throw new Failure(
    `${textOf(name)} has no earlier spec`,
    `See what there is: portcullis works history ${textOf(name)}`,
  );
}

async function write(
  hub: HubWorks,
  { work, spec, name, dryRun }: { work: Work; spec: JsonObject; name: WorkName; dryRun: boolean },
): Promise<Work> {
  let read = work;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const written = await hub.replaceSpec(read, spec, dryRun);
    if (written !== 'changed') return written;
    read = await hub.get(name);
    if (read.metadata.generation !== work.metadata.generation) break;
  }
  throw new Failure(`${textOf(name)} was changed meanwhile`, 'Look at it, and run this again.');
}
