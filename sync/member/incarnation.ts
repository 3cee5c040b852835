// Finds out whether a cluster is still the same, or was wiped and set up anew behind its address, which makes it
// another incarnation. An incarnation is identified by the UID of the cluster record and the UID of the kube-system
// Namespace. An answer to an earlier request may be outdated, so a caller only gets the answer to a request that was
// sent after the call.
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { parseLimited } from '../../lib/json/value-count.ts';
import { readWhole } from '../../routing/members/member-call.ts';
import { isWordKept } from '../../store/left-out.ts';
import type { Incarnation } from '../../query/types.ts';
import { refusalOf } from './member-faults.ts';
import type { AskMember, SyncTiming } from './sync-types.ts';

/** Thrown when the cluster was wiped and set up anew. No watch may then be resumed from the stored resourceVersions. */
export class OtherIncarnation extends Error {}

const namespaceBytes = 1024 * 1024;

/**
 * Reads the UID of the member cluster's kube-system Namespace, which makes up its incarnation together with the
 * record's UID.
 * @throws SyncSetback, GatewayError, MalformedAnswer (rejects)
 */
export async function readIncarnation(
  ask: AskMember,
  record: { readonly uid: string; readonly name: string },
  timing: Pick<SyncTiming, 'headTimeoutMs'>,
  signal: AbortSignal,
): Promise<Incarnation> {
  const answer = await ask({
    path: '/api/v1/namespaces/kube-system',
    headTimeoutMs: timing.headTimeoutMs,
    wholeTimeoutMs: timing.headTimeoutMs,
    signal,
  });
  if (answer.status !== 200) throw await refusalOf(answer, record.name, 'Namespace kube-system');
  const uid = uidIn(parseLimited(await readWhole(answer, namespaceBytes)));
  return Object.freeze({ id: `${record.uid}/${uid}`, cluster: record.name });
}

function uidIn(value: unknown): string {
  const uid = (value as { readonly metadata?: { readonly uid?: unknown } } | null)?.metadata?.uid;
  if (typeof uid !== 'string' || uid === '' || uid.includes('/') || !isWordKept(uid))
    throw new MalformedAnswer('a Namespace without UID');
  return uid;
}

/**
 * Returns a function that runs `work`. Calls that come while a run is under way share one further run, which starts
 * when the present run has ended. So each caller gets the result of a run that began after its call.
 */
export function shareNext<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<unknown> | undefined;
  let next: Promise<Result> | undefined;
  const begin = (): Promise<Result> => {
    const made = work();
    const settled = made.then(
      () => undefined,
      () => undefined,
    );
    current = settled;
    void settled.then(() => {
      if (current === settled) current = undefined;
    });
    return made;
  };
  return () => {
    if (current === undefined) return begin();
    next ??= current.then(() => {
      next = undefined;
      return begin();
    });
    return next;
  };
}
