// Lists and watches one cluster for a merged watch. It first lists the cluster's objects, unless the client has them
// already, then watches, and begins a new watch whenever a watch ends. When a cluster does not answer, no event is
// sent, because its objects still exist. When a list is cut after some of its objects were sent, the client must begin
// the merged watch again.
import { setTimeout as sleep } from 'node:timers/promises';
import { makeBackoff } from '../../../lib/backoff.ts';
import { GatewayError } from '../../../model/errors.ts';
import { MalformedAnswer } from '../../../lib/json/json-scan.ts';
import { isExpired } from '../../../kube/watch.ts';
import { byteLinesOf } from '../../../lib/watch-lines.ts';
import type { MemberAnswer } from '../../../routing/members/member-call.ts';
import { readMemberEvent } from '../../../sync/follow/watch-event.ts';
import type { ListOutcome, MemberList } from '../lists/member-list.ts';
import { missingByAnswer, missingByError } from '../members/missing.ts';
import type { Missing } from '../members/missing.ts';
import type { ChangeType } from './watch-lines.ts';

/** Sends the list and watch requests to one cluster. */
export interface MemberSource {
  readonly cluster: string;
  list(): Promise<ListOutcome>;
  watch(version: string): Promise<MemberAnswer>;
}

/**
 * Receives the objects and events of one cluster. A promise that one of its methods returns resolves when the client
 * has taken the data.
 */
export interface MemberOutput {
  /**
   * Called when an attempt to list or watch has ended. `missing` says why the attempt failed; it is undefined when the
   * attempt worked or the cluster does not serve the type.
   */
  onAttempt(missing: Missing | undefined): void;
  onItems(list: MemberList, items: readonly Buffer[]): Promise<void>;
  /** Called when all objects of the first list have been sent to the client. */
  onJoined(list: MemberList, version: string): Promise<void>;
  /**
   * Called for each event about an object.
   * @returns the object's resourceVersion in the cluster
   */
  onChange(type: ChangeType, object: Buffer): Promise<string>;
  /**
   * Called when the cluster sent a bookmark.
   * @param line the event as received
   */
  onBookmark(version: string, line: Buffer): Promise<void>;
  /** Called when the merged watch cannot continue; the client must begin again with a list. */
  onExpired(why: string): void;
}

const firstWaitMs = 800;
const longestWaitMs = 30_000;
/**
 * After a watch that lasted at least this many milliseconds, the wait before the next attempt begins again with the
 * shortest backoff.
 */
const steadyMs = 5_000;

/**
 * Lists and watches the cluster until the signal is aborted or the client must begin again.
 * @param version resourceVersion from which to watch; undefined to begin with a list
 */
export async function followMember(
  source: MemberSource,
  output: MemberOutput,
  version: string | undefined,
  signal: AbortSignal,
  wait: (waitMs: number, signal: AbortSignal) => Promise<unknown> = waitUntil,
): Promise<void> {
  const backoff = makeBackoff(firstWaitMs, longestWaitMs, Math.random);
  const run = new MemberRun(source, output, version);
  while (!signal.aborted && !run.over) {
    const startedMs = performance.now();
    try {
      await run.attempt();
    } catch (error) {
      if (signal.aborted || run.over) return;
      run.explain(error);
    }
    if (performance.now() - startedMs > steadyMs) backoff.reset();
    if (signal.aborted || run.over) return;
    await wait(run.isAbsent ? longestWaitMs : backoff.next(), signal);
  }
}

/** Resolves after `waitMs`, or as soon as the signal is aborted. */
function waitUntil(waitMs: number, signal: AbortSignal): Promise<unknown> {
  return sleep(waitMs, undefined, { signal, ref: false }).catch(() => {});
}

class MemberRun {
  readonly #source: MemberSource;
  readonly #output: MemberOutput;
  #version: string | undefined;
  /** True while some objects of a list have been sent to the client, but not all. */
  #isHalfSent = false;
  /** True once the client has received objects of this cluster. */
  #wasThere: boolean;
  /** True when the cluster did not serve the type at the last attempt. */
  isAbsent = false;
  over = false;

  constructor(source: MemberSource, output: MemberOutput, version: string | undefined) {
    this.#source = source;
    this.#output = output;
    this.#version = version;
    this.#wasThere = version !== undefined;
  }

  async attempt(): Promise<void> {
    this.isAbsent = false;
    this.#version ??= await this.#join();
    if (this.#version === undefined) return;
    const answer = await this.#source.watch(this.#version);
    if (answer.status !== 200) return await this.#refused(answer);
    this.#output.onAttempt(undefined);
    for await (const line of byteLinesOf(answer.chunks)) {
      const event = readMemberEvent(line);
      if (event.type === 'ERROR') {
        answer.cancel();
        if (isExpired(event.status)) this.#expire('the version of a cluster is too old');
        return;
      }
      if (event.type === 'BOOKMARK') {
        this.#version = event.resourceVersion;
        await this.#output.onBookmark(event.resourceVersion, line);
      } else {
        const version = await this.#output.onChange(event.type, event.object);
        if (version !== '') this.#version = version;
      }
    }
  }

  /**
   * Lists the cluster's objects and sends them to the client.
   * @returns the resourceVersion from which to watch; undefined when the list failed and must be tried again
   */
  async #join(): Promise<string | undefined> {
    const outcome = await this.#source.list();
    if (outcome.kind === 'missing') {
      this.#output.onAttempt(outcome.missing);
      return undefined;
    }
    this.#output.onAttempt(undefined);
    if (outcome.kind === 'absent') {
      this.isAbsent = true;
      return undefined;
    }
    const { list } = outcome;
    for await (const items of list.items()) {
      this.#isHalfSent ||= items.length > 0;
      await this.#output.onItems(list, items);
    }
    await this.#output.onJoined(list, list.resourceVersion);
    this.#isHalfSent = false;
    this.#wasThere = true;
    return list.resourceVersion;
  }

  async #refused(answer: MemberAnswer): Promise<void> {
    const missing = await missingByAnswer(this.#source.cluster, answer);
    const { code } = missing;
    if (code === 404) {
      this.isAbsent = true;
      this.#output.onAttempt(undefined);
    } else if (code === 410) this.#expire('the version of a cluster is too old');
    else if (this.#wasThere && code >= 400 && code < 500 && code !== 429) {
      // The cluster refuses further events, perhaps because the caller may no longer see these objects, but the client
      // still has the objects. Ending the watch makes the client list again, without them.
      this.#output.onAttempt(missing);
      this.#expire('a cluster refuses to go on');
    } else this.#output.onAttempt(missing);
  }

  explain(error: unknown): void {
    if (this.#isHalfSent) {
      this.#expire('a cluster broke off while its objects were sent');
    } else if (error instanceof GatewayError && error.code === 'EXPIRED') this.#expire('a cluster has begun again');
    else if (!(error instanceof MalformedAnswer)) {
      this.#output.onAttempt(missingByError(this.#source.cluster, error));
    }
  }

  #expire(why: string): void {
    this.over = true;
    this.#output.onExpired(why);
  }
}
