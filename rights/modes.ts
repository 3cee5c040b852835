// Chooses for each cluster who decides what a user may see: the RBAC that the index has copied, or the cluster itself,
// asked by access reviews. A cluster may have authorizers besides RBAC, and its RBAC objects do not show them. So RBAC
// decides only after the cluster has said that it uses nothing else.
import { within } from '../lib/within.ts';
import { GatewayError } from '../model/errors.ts';
import type { ClusterRecord } from '../model/records.ts';
import type { MemberReviews } from './review.ts';

/**
 * The operator's choice of who decides: `rbac` for copied RBAC, `review` for access reviews by the cluster. `auto` asks
 * the cluster whether RBAC is its only authorizer.
 */
export type RightsChoice = 'auto' | 'rbac' | 'review';

export function isRightsChoice(text: string): text is RightsChoice {
  return text === 'auto' || text === 'rbac' || text === 'review';
}

export type RightsMode = 'rbac' | 'review';

/** Label of a cluster that overrides the configuration; the value is a {@link RightsChoice}. */
export const rightsLabel = 'search.portcullis.io/rights';

/** Reported when a cluster changes between its two modes: decisions by copied RBAC, or by access reviews. */
export interface ModeChange {
  readonly cluster: string;
  readonly incarnation: string;
  readonly mode: RightsMode;
  /** `mismatch` is an alarm: the copied RBAC and the cluster's own answer differed. */
  readonly why: 'rules-complete' | 'rules-incomplete' | 'mismatch';
  readonly message: string;
}

/** Whether copied RBAC or access reviews decide, for each cluster; see {@link makeRightsModes}. */
export interface RightsModes {
  /**
   * Returns whether copied RBAC or access reviews decide for this cluster at the moment.
   * @throws GatewayError (rejects) when the cluster must be asked first and does not answer
   */
  modeOf(record: ClusterRecord, incarnation: string): Promise<RightsMode>;
  /** Reports that the copied RBAC and the cluster's own answer differ. From now on the cluster is asked by reviews. */
  mismatch(record: ClusterRecord, incarnation: string, message: string): void;
}

/** Storage that survives a restart, so that a mode is known while the cluster cannot be asked. */
export interface ModeMemory {
  /** The text of the last `write`; undefined when there is none. */
  read(): string | undefined;
  write(text: string): void;
}

export interface RightsModesOptions {
  readonly reviews: Pick<MemberReviews, 'isIncomplete'>;
  /** The configured choice; a label of the cluster overrides it. */
  readonly choice?: RightsChoice;
  readonly memory?: ModeMemory;
  readonly onChange?: (change: ModeChange) => void;
  /** Milliseconds after which a cluster is asked again about its authorizers; five minutes by default. */
  readonly recheckMs?: number;
  /** Returns milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

interface Known {
  readonly mode: RightsMode;
  readonly why: ModeChange['why'];
}

const defaultRecheckMs = 5 * 60_000;
/** Milliseconds after which a cluster that did not answer is asked again. */
const retryMs = 5_000;
/** The most milliseconds that a request over many clusters waits for a cluster that has never answered. */
const firstAnswerMs = 2_000;
const mostRemembered = 10_000;

/** Asks clusters whether they decide by RBAC alone, and remembers the answers. */
export function makeRightsModes(options: RightsModesOptions): RightsModes {
  return new Modes(options);
}

class Modes implements RightsModes {
  readonly #options: RightsModesOptions;
  readonly #now: () => number;
  /** The mode that was found for each cluster, and why. The keys of all maps in this class are incarnation ids. */
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
      // A cluster that failed is asked again only after some seconds. Otherwise every caller would wait for the same
      // timeout.
      const failed = mayAsk ? undefined : this.#failures.get(incarnation);
      if (failed !== undefined) throw failed;
      const asked = this.#askOnce(record, incarnation);
      // A request that takes longer is not cancelled: its answer is for the questions after this one.
      if (await within(firstAnswerMs, asked)) return await asked;
      const message = `cluster ${JSON.stringify(record.spec.name)} has not said yet which authorizers it has; try again`;
      throw new GatewayError('MEMBER_TIMEOUT', message);
    }
    // The last answer stays valid while the cluster is asked again, and when it cannot be asked.
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
    // A mismatch found by comparing decisions outweighs what the cluster says about itself.
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

/**
 * The choice for a cluster: that of its label, or else the configured one. A label with an unknown value means reviews,
 * because the cluster's own answers never show too much.
 */
function choiceOf(record: ClusterRecord, configured: RightsChoice): RightsChoice {
  const { labels } = record.spec;
  const label = Object.hasOwn(labels, rightsLabel) ? labels[rightsLabel] : undefined;
  if (label === undefined) return configured;
  return isRightsChoice(label) ? label : 'review';
}

/**
 * Merges two texts of a {@link ModeMemory}: what other processes have stored, and what this process has found out. A
 * mismatch that is stored stays, because mirrored RBAC must not decide for that cluster again.
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
    // The text was not written by this code. It is ignored, and the clusters are asked about their authorizers again.
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

function ignore(): void {}
