// Who decides what may be seen of a cluster: its mirrored RBAC, or the member itself by reviews. Easy to get wrong: a
// member may have authorizers beside RBAC, and nothing in its RBAC tells; as long as the member has not said that RBAC
// is all there is, RBAC decides nothing.
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterRecord } from '../../cache/model/records.ts';
import type { MemberReviews } from './review.ts';

/** What the operator wants; `auto` asks the member whether its rules can be listed completely. */
export type RightsChoice = 'auto' | 'rbac' | 'review';

export function isRightsChoice(text: string): text is RightsChoice {
  return text === 'auto' || text === 'rbac' || text === 'review';
}

export type RightsMode = 'rbac' | 'review';

/** Cluster label that chooses; the value is a {@link RightsChoice}. */
export const rightsLabel = 'search.portcullis.io/rights';

/** Why a cluster is decided by reviews, or is so no longer. */
export interface ModeChange {
  readonly cluster: string;
  readonly incarnation: string;
  readonly mode: RightsMode;
  /** `mismatch` is an alarm: mirrored RBAC and the member have disagreed. */
  readonly why: 'rules-complete' | 'rules-incomplete' | 'mismatch';
  readonly message: string;
}

/** What has been found out about members; see {@link makeRightsModes}. */
export interface RightsModes {
  /** @throws GatewayError (rejects) when the member must be asked and does not answer */
  modeOf(record: ClusterRecord, incarnation: string): Promise<RightsMode>;
  /** Mirrored RBAC and the member disagree: from now on the member is asked. */
  mismatch(record: ClusterRecord, incarnation: string, message: string): void;
}

/** What is kept over a restart, so that a member which cannot be asked just then is still known. */
export interface ModeMemory {
  /** The last text given to `write`; undefined when there is none. */
  read(): string | undefined;
  write(text: string): void;
}

export interface RightsModesOptions {
  readonly reviews: Pick<MemberReviews, 'isIncomplete'>;
  /** Of configuration; the cluster's label wins. */
  readonly choice?: RightsChoice;
  readonly memory?: ModeMemory;
  readonly onChange?: (change: ModeChange) => void;
  /** How long a member's word on its authorizers holds. */
  readonly recheckMs?: number;
  /** Milliseconds of any clock that never goes back. */
  readonly now?: () => number;
}

interface Known {
  readonly mode: RightsMode;
  readonly why: ModeChange['why'];
}

const defaultRecheckMs = 5 * 60_000;
/** After a question without an answer. */
const retryMs = 5_000;
/** A list over many clusters waits no longer for one that has never answered. */
const firstAnswerMs = 2_000;
const mostRemembered = 10_000;

export function makeRightsModes(options: RightsModesOptions): RightsModes {
  const { reviews, memory, recheckMs = defaultRecheckMs } = options;
  const now = options.now ?? (() => performance.now());
  const known = readMemory(memory?.read());
  const nextAskMs = new Map<string, number>();
  const failures = new Map<string, unknown>();
  const asking = new Map<string, Promise<RightsMode>>();

  const learn = (record: ClusterRecord, incarnation: string, next: Known, message: string): void => {
    const before = known.get(incarnation);
    if (before?.mode === next.mode && before.why === next.why) return;
    known.delete(incarnation);
    known.set(incarnation, next);
    for (const oldest of known.keys()) {
      if (known.size <= mostRemembered) break;
      known.delete(oldest);
    }
    memory?.write(JSON.stringify([...known].map(([id, { mode, why }]) => ({ incarnation: id, mode, why }))));
    options.onChange?.({ cluster: record.spec.name, incarnation, ...next, message });
  };

  const ask = async (record: ClusterRecord, incarnation: string): Promise<RightsMode> => {
    nextAskMs.set(incarnation, now() + retryMs);
    let incomplete: boolean;
    try {
      incomplete = await reviews.isIncomplete(record);
      failures.delete(incarnation);
    } catch (error) {
      failures.set(incarnation, error);
      throw error;
    }
    nextAskMs.set(incarnation, now() + recheckMs);
    // What samples have shown is not taken back by what the member says of itself.
    const settled = known.get(incarnation);
    if (settled?.why === 'mismatch') return settled.mode;
    const name = JSON.stringify(record.spec.name);
    if (incomplete) {
      const why = `cluster ${name} has authorizers beside RBAC: it is asked by SubjectAccessReview who may see what`;
      learn(record, incarnation, { mode: 'review', why: 'rules-incomplete' }, why);
      return 'review';
    }
    const why = `cluster ${name} says that its rules are complete: its mirrored RBAC decides who may see what`;
    learn(record, incarnation, { mode: 'rbac', why: 'rules-complete' }, why);
    return 'rbac';
  };

  const askOnce = (record: ClusterRecord, incarnation: string): Promise<RightsMode> => {
    let asked = asking.get(incarnation);
    if (asked === undefined) {
      asked = ask(record, incarnation).finally(() => asking.delete(incarnation));
      asking.set(incarnation, asked);
    }
    return asked;
  };

  return {
    modeOf: async (record, incarnation) => {
      const choice = choiceOf(record, options.choice ?? 'auto');
      if (choice === 'review') return 'review';
      const found = known.get(incarnation);
      if (found?.why === 'mismatch') return found.mode;
      if (choice === 'rbac') return 'rbac';
      if (found === undefined) {
        // One question at a time and one in some seconds: everybody else would wait for the same silence.
        const failed = now() < (nextAskMs.get(incarnation) ?? 0) ? failures.get(incarnation) : undefined;
        if (failed !== undefined) throw failed;
        return await inTime(askOnce(record, incarnation), firstAnswerMs, record.spec.name);
      }
      // The last answer stands while the member is asked anew, and when it cannot be.
      if (now() >= (nextAskMs.get(incarnation) ?? 0)) askOnce(record, incarnation).catch(ignore);
      return found.mode;
    },
    mismatch: (record, incarnation, message) => {
      learn(record, incarnation, { mode: 'review', why: 'mismatch' }, message);
    },
  };
}

/** A label that says something else asks the member itself, which is never too much. */
function choiceOf(record: ClusterRecord, configured: RightsChoice): RightsChoice {
  const { labels } = record.spec;
  const label = Object.hasOwn(labels, rightsLabel) ? labels[rightsLabel] : undefined;
  if (label === undefined) return configured;
  return isRightsChoice(label) ? label : 'review';
}

function readMemory(text: string | undefined): Map<string, Known> {
  const known = new Map<string, Known>();
  let read: unknown;
  try {
    read = JSON.parse(text ?? '[]');
  } catch {
    // Written by nobody we know; members are asked anew.
    return known;
  }
  for (const entry of Array.isArray(read) ? (read as Readonly<Record<string, unknown>>[]) : []) {
    const { incarnation, mode, why } = entry ?? {};
    if (typeof incarnation !== 'string') continue;
    if (mode === 'rbac' && why === 'rules-complete') known.set(incarnation, { mode, why });
    else if (mode === 'review' && (why === 'rules-incomplete' || why === 'mismatch'))
      known.set(incarnation, { mode, why });
  }
  return known;
}

/** Rejects when there is no answer by then; the question goes on. */
async function inTime<T>(answer: Promise<T>, limitMs: number, cluster: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const message = `cluster ${JSON.stringify(cluster)} has not said yet which authorizers it has; ask again`;
    timer = setTimeout(() => reject(new GatewayError('MEMBER_TIMEOUT', message)), limitMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function ignore(): void {}
