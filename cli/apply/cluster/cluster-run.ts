// All work in one cluster: applies Namespaces, then CustomResourceDefinitions, then all other objects, waits until they
// are ready, and deletes objects that are no longer in the set. An error is written into the report of this cluster and
// does not affect other clusters.
import { isJsonObject, type JsonObject } from '../../../lib/objects/json-object.ts';
import { namespaceOf } from './apply-job.ts';
import type { ClusterKnowledge, ClusterRun } from './apply-job.ts';
import { applyObject, readBefore } from './apply-object.ts';
import type { Before, ObjectResult } from './apply-object.ts';
import { partOfLabel } from './apply-set.ts';
import { beginSet, pruneSet } from './cluster-set.ts';
import { establish, definedKinds } from './definitions.ts';
import { discoverKinds } from './kinds.ts';
import { pathOf } from '../../../kube/paths.ts';
import { objectName, phaseOf } from '../manifests/manifest.ts';
import { groupKindOf } from '../../../lib/objects/group-kind.ts';
import type { Manifest } from '../manifests/manifest.ts';
import { reasonOf } from './member-client.ts';
import { canBeUnready } from '../../../lib/objects/readiness/readiness.ts';
import { waitReady } from './wait-ready.ts';
import { parseExact } from '../../../lib/json/exact-json.ts';

/**
 * How many objects are read at the same time, before they are applied one by one. The progress is saved after each such
 * batch.
 */
const batchSize = 20;
/**
 * How often an object of a newly defined kind is tried before it counts as failed, with `newKindPauseMs` in between:
 * one of several API servers may not know the kind for a moment.
 */
const newKindTries = 20;
const newKindPauseMs = 250;

/**
 * Does all work of a run in one cluster and writes the result into the cluster's report. It does not reject when the
 * cluster refuses or cannot be reached.
 */
export async function applyToCluster(run: ClusterRun): Promise<void> {
  const { report, job, state } = run;
  report.status = 'running';
  try {
    const failure = await applyWaitPrune(run);
    report.status = job.stopping.aborted ? 'stopped' : failure === undefined ? 'done' : 'failed';
    report.reason = report.status === 'failed' ? failure! : '';
  } catch (error) {
    const reason = reasonOf(error);
    const untried = report.count('untried');
    report.status = job.stopping.aborted ? 'stopped' : 'failed';
    report.reason = untried === 0 ? reason : `${reason}; ${untried} objects were not tried`;
  }
  state?.record(report.cluster, report.leading(), report.status === 'done');
}

/**
 * Applies the objects, waits until they are ready, and prunes the set.
 * @returns why the cluster failed; undefined when nothing failed
 */
async function applyWaitPrune(run: ClusterRun): Promise<string | undefined> {
  const { job, report, state, client } = run;
  const { manifests, set, options } = job;
  const known: ClusterKnowledge = { kinds: await discoverKinds(client), membersBefore: 0 };
  const applied = state?.earlier(report.cluster)?.applied ?? 0;
  for (let index = 0; index < applied; index++) report.set(index, 'earlier');
  known.membersBefore = applied;
  const ends = [0, 1, 2].map((phase) => manifests.filter((each) => phaseOf(each) <= phase).length);
  await applyRange(run, known, applied, ends[0]!);
  if (set !== undefined) await beginSet(run, known, set.set);
  await applyRange(run, known, Math.max(applied, ends[0]!), ends[1]!);
  if (ends[1]! > ends[0]! && !options.dryRun && !job.stopping.aborted) {
    const isThere = (_: Manifest, offset: number): boolean => report.outcome(ends[0]! + offset) !== 'failed';
    known.kinds = await establish(run, manifests.slice(ends[0], ends[1]).filter(isThere));
  }
  await applyRange(run, known, Math.max(applied, ends[1]!), ends[2]!);
  const failed = report.count('failed');
  if (failed > 0) return `${failed} of ${manifests.length} objects failed${set?.prunes === true ? '; not pruned' : ''}`;
  const unready = options.dryRun || job.stopping.aborted ? undefined : await waitForAll(run, known);
  if (unready !== undefined || set === undefined || job.stopping.aborted) return unready;
  return pruneSet(run, known, set);
}

async function applyRange(run: ClusterRun, known: ClusterKnowledge, from: number, to: number): Promise<void> {
  const { job, report, state } = run;
  for (let start = from; start < to && !job.stopping.aborted; start += batchSize) {
    const batch = job.manifests.slice(start, Math.min(start + batchSize, to));
    const befores = await Promise.all(batch.map((manifest) => readIfServed(run, known, manifest)));
    for (const [offset, manifest] of batch.entries()) {
      if (job.stopping.aborted) break;
      const before = befores[offset];
      if (hasLabel(before, job.set?.set.id)) known.membersBefore++;
      const result = await applyOne(run, known, manifest, before);
      report.set(start + offset, result.outcome, result.outcome === 'failed' ? result.reason : undefined);
      run.listener.onObject(report, manifest, result);
    }
    state?.record(report.cluster, report.leading(), false);
  }
}

function readIfServed(run: ClusterRun, { kinds }: ClusterKnowledge, manifest: Manifest): Promise<Before | undefined> {
  const kind = kinds.find(manifest.apiVersion, manifest.kind);
  if (kind === undefined) return Promise.resolve(undefined);
  const path = pathOf(kind, namespaceOf(run.job, kind, manifest), manifest.name);
  return readBefore(run.client, path, run.job.options);
}

function hasLabel(before: Before | undefined, id: string | undefined): boolean {
  if (id === undefined || !isJsonObject(before) || !isJsonObject(before['metadata'])) return false;
  const { labels } = before['metadata'];
  return isJsonObject(labels) && labels[partOfLabel] === id;
}

async function applyOne(
  run: ClusterRun,
  { kinds }: ClusterKnowledge,
  manifest: Manifest,
  before: Before | undefined,
): Promise<ObjectResult> {
  const { job, client } = run;
  const kind = kinds.find(manifest.apiVersion, manifest.kind);
  const isNewKind = definedKinds(job.manifests).has(`${manifest.apiVersion} ${manifest.kind}`);
  if (kind === undefined || before === undefined) {
    if (isNewKind && job.options.dryRun) return assumed(manifest);
    const reason = `the cluster does not serve ${manifest.kind} of ${manifest.apiVersion}: is its CRD installed there?`;
    return { outcome: 'failed', reason };
  }
  const namespace = namespaceOf(job, kind, manifest);
  if (job.options.dryRun && before === 'absent' && isNewNamespace(run, namespace)) return assumed(manifest);
  const object = { manifest, kind, namespace, before };
  for (let tried = 1; ; tried++) {
    const result = await applyObject(client, object, job.options);
    const isUnknown = result.outcome === 'failed' && result.reason.includes('could not find the requested resource');
    if (!isUnknown || !isNewKind || tried === newKindTries || job.stopping.aborted) return result;
    await new Promise((resolve) => void setTimeout(resolve, newKindPauseMs));
  }
}

/** The result that a dry run assumes for an object whose Namespace or kind the same run would create first. */
function assumed(manifest: Manifest): ObjectResult {
  return { outcome: 'created', before: undefined, after: parseExact(manifest.body) as JsonObject };
}

/**
 * Whether this run has created the namespace. Namespaces are applied first, so their results are in the report already.
 */
function isNewNamespace({ job, report }: ClusterRun, namespace: string): boolean {
  const index = job.manifests.findIndex((each) => groupKindOf(each) === 'Namespace' && each.name === namespace);
  return index >= 0 && report.outcome(index) === 'created';
}

/** Waits until all objects are ready. @returns which object is not ready, and why; undefined when all are ready */
async function waitForAll(run: ClusterRun, { kinds }: ClusterKnowledge): Promise<string | undefined> {
  const { job, client, report, listener } = run;
  if (job.waitMs === undefined) return undefined;
  const signal = AbortSignal.any([job.stopping, AbortSignal.timeout(job.waitMs)]);
  for (const manifest of job.manifests.filter(canBeUnready)) {
    const kind = kinds.find(manifest.apiVersion, manifest.kind)!;
    const object = { namespace: namespaceOf(job, kind, manifest), name: manifest.name };
    const onReason = (reason: string): void => listener.onWaiting(report, `${objectName(manifest)}: ${reason}`);
    const reason = await waitReady(client, kind, object, signal, onReason);
    if (reason !== undefined) return `${objectName(manifest)} is not ready: ${reason}`;
  }
  return undefined;
}
