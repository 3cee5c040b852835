// Says who decides what a user may see of a cluster: the RBAC that the index has copied, or the member itself, which is
// asked by access reviews. A member may have other authorizers, and its RBAC does not show them. So RBAC decides only
// after the member has said that it decides by RBAC alone.
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

/** What is kept over a restart, for members that cannot be asked just then. */
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
  /** How long a member's answer about its authorizers holds. */
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

/** Asks members whether RBAC is all they decide by, and remembers their answers. */
export function makeRightsModes(options: RightsModesOptions): RightsModes {
  return new Modes(options);
}

class Modes implements RightsModes {
  readonly #options: RightsModesOptions;
  readonly #now: () => number;
  /** By incarnation id, as is all else. */
  readonly #known: Map<string, Known>;
  readonly #nextAskMs = new Map<string, number>();
  readonly #failures = new Map<string, unknown>();
  readonly #asking = new Map<string, Promise<RightsMode>>();

  constructor(options: RightsModesOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#known = readMemory(options.memory?.read());
  }

  async modeOf(record: ClusterRecord, incarnation: string): Promise<RightsMode> {
    const choice = choiceOf(record, this.#options.choice ?? 'auto');
    if (choice === 'review') return 'review';
    const found = this.#known.get(incarnation);
    if (found?.why === 'mismatch') return found.mode;
    if (choice === 'rbac') return 'rbac';
    const mayAsk = this.#now() >= (this.#nextAskMs.get(incarnation) ?? 0);
    if (found === undefined) {
      // A member that failed is asked again only after some seconds: every caller would wait for the same silence.
      const failed = mayAsk ? undefined : this.#failures.get(incarnation);
      if (failed !== undefined) throw failed;
      return await inTime(this.#askOnce(record, incarnation), firstAnswerMs, record.spec.name);
    }
    // The last answer holds while the member is asked anew, and when it cannot be asked.
    if (mayAsk) this.#askOnce(record, incarnation).catch(ignore);
    return found.mode;
  }

  mismatch(record: ClusterRecord, incarnation: string, message: string): void {
    this.#learn(record, incarnation, { mode: 'review', why: 'mismatch' }, message);
  }

  #askOnce(record: ClusterRecord, incarnation: string): Promise<RightsMode> {
    let asked = this.#asking.get(incarnation);
    if (asked === undefined) {
      asked = this.#ask(record, incarnation).finally(() => this.#asking.delete(incarnation));
      this.#asking.set(incarnation, asked);
    }
    return asked;
  }

  async #ask(record: ClusterRecord, incarnation: string): Promise<RightsMode> {
    this.#nextAskMs.set(incarnation, this.#now() + retryMs);
    let isIncomplete: boolean;
    try {
      isIncomplete = await this.#options.reviews.isIncomplete(record);
      this.#failures.delete(incarnation);
    } catch (error) {
      this.#failures.set(incarnation, error);
      throw error;
    }
    this.#nextAskMs.set(incarnation, this.#now() + (this.#options.recheckMs ?? defaultRecheckMs));
    // What samples have shown weighs more than what the member says of itself.
    const settled = this.#known.get(incarnation);
    if (settled?.why === 'mismatch') return settled.mode;
    const name = JSON.stringify(record.spec.name);
    if (isIncomplete) {
      const why = `cluster ${name} has authorizers beside RBAC: it is asked by SubjectAccessReview who may see what`;
      this.#learn(record, incarnation, { mode: 'review', why: 'rules-incomplete' }, why);
      return 'review';
    }
    const why = `cluster ${name} says that its rules are complete: its mirrored RBAC decides who may see what`;
    this.#learn(record, incarnation, { mode: 'rbac', why: 'rules-complete' }, why);
    return 'rbac';
  }

  #learn(record: ClusterRecord, incarnation: string, next: Known, message: string): void {
    const known = this.#known;
    const before = known.get(incarnation);
    if (before?.mode === next.mode && before.why === next.why) return;
    known.delete(incarnation);
    known.set(incarnation, next);
    dropOldest(known);
    this.#options.memory?.write(textOf(known));
    this.#options.onChange?.({ cluster: record.spec.name, incarnation, ...next, message });
  }
}

/** An unknown value of the label means reviews: the member itself never shows too much. */
function choiceOf(record: ClusterRecord, configured: RightsChoice): RightsChoice {
  const { labels } = record.spec;
  const label = Object.hasOwn(labels, rightsLabel) ? labels[rightsLabel] : undefined;
  if (label === undefined) return configured;
  return isRightsChoice(label) ? label : 'review';
}

/**
 * What one process has found out, added to what others have kept. A mismatch stays whoever found it: mirrored RBAC must
 * not decide again because another process has not seen it.
 */
export function mergeModes(kept: string, own: string): string {
  const known = readMemory(kept);
  for (const [incarnation, found] of readMemory(own)) {
    if (known.get(incarnation)?.why === 'mismatch') continue;
    known.delete(incarnation);
    known.set(incarnation, found);
  }
  dropOldest(known);
  return textOf(known);
}

function dropOldest(known: Map<string, Known>): void {
  for (const oldest of known.keys()) {
    if (known.size <= mostRemembered) break;
    known.delete(oldest);
  }
}

function textOf(known: ReadonlyMap<string, Known>): string {
  return JSON.stringify([...known].map(([incarnation, { mode, why }]) => ({ incarnation, mode, why })));
}

function readMemory(text: string | undefined): Map<string, Known> {
  const known = new Map<string, Known>();
  let read: unknown;
  try {
    read = JSON.parse(text || '[]');
  } catch {
    // Not our text; members are asked anew.
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

/** Rejects when there is no answer by then; the question itself goes on. */
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
