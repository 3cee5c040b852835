// Which life of a member is behind an address: the UID of its record and that of its kube-system Namespace. An answer
// that was on its way already says nothing about now, so a caller waits for one that was begun after it asked.
import { MalformedAnswer } from '../../../lib/json/malformed-json.ts';
import { readWhole } from '../../../routing/members/member-call.ts';
import type { Incarnation } from '../../types.ts';
import { refusalOf } from '../member-faults.ts';
import type { AskMember, SyncTiming } from '../sync-types.ts';

/** The member is not the one whose rows are kept any more. */
export class OtherIncarnation extends Error {}

const namespaceBytes = 1024 * 1024;

/** Reads who the member is. @throws SyncSetback, GatewayError, MalformedAnswer (rejects) */
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
  const uid = uidIn((await readWhole(answer, namespaceBytes)).toString('utf8'));
  return Object.freeze({ id: `${record.uid}/${uid}`, cluster: record.name });
}

function uidIn(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new MalformedAnswer('text that is not JSON');
  }
  const uid = (value as { readonly metadata?: { readonly uid?: unknown } } | null)?.metadata?.uid;
  if (typeof uid !== 'string' || uid === '') throw new MalformedAnswer('a Namespace without UID');
  return uid;
}

/** Runs `work` so that all who ask while one is under way share the next one. */
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
