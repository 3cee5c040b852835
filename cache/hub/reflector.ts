// Keeps a copy of one resource of the hub by list and watch, through everything that can go wrong with either. Easy to
// get wrong: the copy must never be quietly old. Whatever ends a watch leads back to one, from where it stopped or from
// a new list; the objects stay until the hub itself says otherwise, and `state` says since when nobody has confirmed
// them.
import { makeBackoff, makeBusyWaits } from '../../lib/backoff.ts';
import { GatewayError } from '../model/errors.ts';
import { MalformedAnswer } from '../../lib/json/malformed-json.ts';
import { readPage, readStatus, readWatchLine, type Page } from './hub-events.ts';
import { collectionPath, missingRule, resourceLabel } from './hub-paths.ts';
import { hubUnavailable } from './hub-faults.ts';
import type { HubAnswer, HubObject, HubStream } from './hub-types.ts';
import { isOlder, makeObjectSet, type ObjectChange } from './object-set.ts';
import {
  defaultReflectorTiming,
  type Reflector,
  type ReflectorFault,
  type ReflectorOptions,
  type ReflectorState,
} from './reflector-types.ts';
import { linesOf } from '../../lib/watch-lines.ts';

export type { Reflector, ReflectorFault, ReflectorOptions, ReflectorState } from './reflector-types.ts';

/** As client-go's pager. */
const pageSize = '500';
const statusBytes = 64 * 1024;

/**
 * What the loop does next. `check`: resume, unless the hub's clock of versions has gone back (etcd restored from a
 * backup).
 */
type Step = 'list' | 'check' | 'watch';

/** A failure that is waited out before `next`. */
class Setback extends Error {
  readonly fault: ReflectorFault;
  readonly next: Step;
  /** The hub asks for this long a moment. */
  readonly retryAfterMs: number | undefined;
  constructor(reason: ReflectorFault['reason'], message: string, next: Step, retryAfterMs?: number) {
    super(message);
    this.fault = { reason, message };
    this.next = next;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The hub does not have this kind. */
class MissingKind extends Error {}
/** The page or event asked for is no longer kept (410). */
class Expired extends Error {}

/** Starts at once; it never throws and ends only by `close()`. */
export function startReflector(options: ReflectorOptions): Reflector {
  const { client, resource } = options;
  const timing = { ...defaultReflectorTiming, ...options.timing };
  const random = options.random ?? Math.random;
  const now = options.now ?? Date.now;
  const label = resourceLabel(resource);
  const form = options.metadataOnly === true ? ';as=PartialObjectMetadata' : '';
  const accept = (list: string): string =>
    form === '' ? 'application/json' : `application/json${form}${list};g=meta.k8s.io;v=v1,application/json`;
  const stopping = new AbortController();
  const objects = makeObjectSet();
  const waits = makeBackoff(timing.firstBackoffMs, timing.maxBackoffMs, random);
  // Apart, so that an outage does not make the first refusal after it a long wait.
  const unreachable = makeBackoff(timing.firstBackoffMs, timing.maxUnreachableBackoffMs, random);
  const busy = makeBusyWaits(timing.firstBackoffMs, timing.busyGraceMs, random);
  const first = Promise.withResolvers<void>();
  first.promise.catch(() => undefined);
  let state: ReflectorState = Object.freeze({
    phase: 'listing',
    synced: false,
    lastConfirmedAtMs: undefined,
    resourceVersion: '',
    fault: undefined,
  });
  let resourceVersion = '';
  let lastConfirmedAtMs: number | undefined;
  let listedAtMs = Number.NEGATIVE_INFINITY;
  let closeLookUntilMs = Number.NEGATIVE_INFINITY;
  let wake: () => void = () => undefined;
  let missingSeen = 0;
  let unpaged = false;

  function setState(phase: ReflectorState['phase'], fault?: ReflectorFault, synced = state.synced): void {
    const before = state;
    state = Object.freeze({ phase, synced, lastConfirmedAtMs, resourceVersion, fault });
    if (synced) first.resolve();
    const same = before.phase === phase && before.synced === synced && before.fault?.message === fault?.message;
    if (!same) guarded(() => options.onState?.(state));
  }

  function tell(changes: readonly ObjectChange[]): void {
    if (changes.length > 0) guarded(() => options.onChange?.(changes));
  }

  /** A listener's fault is its own: the loop goes on. */
  function guarded(call: () => void): void {
    try {
      call();
    } catch (error) {
      options.onError?.(error);
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (stopping.signal.aborted) wake();
    });
  }

  async function getPage(query: Readonly<Record<string, string>>): Promise<Page> {
    const answer = await client.request({
      method: 'GET',
      path: collectionPath(resource, query),
      accept: accept('List'),
      timeoutMs: timing.listTimeoutMs,
      signal: stopping.signal,
    });
    if (answer.status === 410 && query['continue'] !== undefined) throw new Expired();
    if (answer.status !== 200) throw refusal(answer, 'list');
    return readPage(answer.body);
  }

  /**
   * Reads all pages. The pages of one list show one moment; when that is forgotten in the middle, it starts over
   * without pages.
   */
  async function list(): Promise<void> {
    const items: HubObject[] = [];
    let page = await getPage(unpaged ? {} : { limit: pageSize });
    const listed = page.resourceVersion;
    for (const item of page.items) items.push(item);
    try {
      while (page.continueToken !== '') {
        page = await getPage({ limit: pageSize, continue: page.continueToken });
        for (const item of page.items) items.push(item);
      }
    } catch (error) {
      if (!(error instanceof Expired) || unpaged) throw error;
      unpaged = true;
      return await list();
    }
    unpaged = false;
    missingSeen = 0;
    busy.reset();
    resourceVersion = listed;
    listedAtMs = performance.now();
    lastConfirmedAtMs = now();
    const changes = objects.swap(items);
    setState('watching', undefined, true);
    tell(changes);
    return undefined;
  }

  /** Whether the hub still stands at or after the version we resume from. */
  async function check(): Promise<Step> {
    const page = await getPage({ limit: '1' });
    return isOlder(page.resourceVersion, resourceVersion) ? 'list' : 'watch';
  }

  async function watch(): Promise<Step> {
    const { watchSecondsMin, watchSecondsMax } = timing;
    const timeoutMs = Math.round((watchSecondsMin + random() * (watchSecondsMax - watchSecondsMin)) * 1000);
    const path = collectionPath(resource, {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion,
      timeoutSeconds: String(Math.max(1, Math.round(timeoutMs / 1000))),
    });
    const stream = await client.open({
      method: 'GET',
      path,
      accept: accept(''),
      timeoutMs: timing.openTimeoutMs,
      signal: stopping.signal,
    });
    if (stream.status !== 200) throw refusal(await readRefusal(stream), 'watch');
    const openedAtMs = performance.now();
    busy.reset();
    lastConfirmedAtMs = now();
    setState('watching');
    let stalled = false;
    const deadline = setTimeout(() => {
      stalled = true;
      stream.close();
    }, timeoutMs + timing.stallGraceMs);
    let lines = 0;
    try {
      for await (const line of linesOf(stream.chunks)) {
        lastConfirmedAtMs = now();
        follow(line);
        lines += 1;
      }
    } catch (error) {
      if (stalled) throw new Setback('Stalled', `the watch of ${label} on ${client.url} went silent`, 'check');
      if (error instanceof GatewayError || error instanceof Expired || error instanceof Setback) throw error;
      throw new Setback(
        'Malformed',
        `the watch of ${label} on ${client.url} cannot be read: ${wordsOf(error)}`,
        'list',
      );
    } finally {
      clearTimeout(deadline);
      stream.close();
      if (lines > 0 || performance.now() - openedAtMs >= timing.healthyMs) {
        waits.reset();
        unreachable.reset();
      }
    }
    const livedMs = performance.now() - openedAtMs;
    if (livedMs < 1000 && lines === 0) {
      throw new Setback('Refused', `the hub ${client.url} ends every watch of ${label} at once`, 'check');
    }
    lastConfirmedAtMs = now();
    // Ended long before its time: the API server restarts, or its own storage was exchanged.
    return livedMs < timeoutMs - 2000 ? 'check' : 'watch';
  }

  function follow(line: string): void {
    const event = readWatchLine(line);
    if (event.type === 'ERROR') {
      const { code, reason } = event.status;
      if (code === 410 || reason === 'Expired' || reason === 'Gone') throw new Expired();
      throw new Setback('Refused', `the hub ${client.url} ended the watch of ${label} (${reason || code})`, 'list');
    }
    if (event.type === 'BOOKMARK') {
      resourceVersion = event.resourceVersion;
      return;
    }
    resourceVersion = event.object.metadata.resourceVersion;
    tell(event.type === 'DELETED' ? objects.remove(event.object) : objects.put(event.object));
  }

  /** An answer other than 200 as what the loop does about it. */
  function refusal({ status, body, retryAfterMs }: HubAnswer, verb: 'list' | 'watch'): Error {
    const where = `${label} on ${client.url}`;
    const after: Step = verb === 'list' ? 'list' : 'check';
    if (status === 410 && verb === 'watch') return new Expired();
    if (status === 404 && isOwnNotFound(body)) return new MissingKind();
    if (status === 401)
      return new Setback(
        'Unauthorized',
        `the hub ${client.url} does not know the gateway (401 on ${where}); renew its credential`,
        after,
      );
    if (status === 403)
      return new Setback('Forbidden', `the gateway may not ${verb} ${where}; grant it ${missingRule(resource)}`, after);
    const { reason } = readStatus(body);
    // A version it does not accept, or one of its future, is not mended by asking with it again.
    const next = status === 400 || status === 422 || status === 504 ? 'list' : after;
    return new Setback(
      'Refused',
      `the hub ${client.url} answered ${status}${reason === '' ? '' : ` ${reason}`} to a ${verb} of ${label}`,
      next,
      status === 429 ? retryAfterMs : undefined,
    );
  }

  /** What to do about an error, after the wait that is due. */
  async function recover(error: unknown, doing: Step): Promise<Step> {
    if (error instanceof Expired) {
      // The first new list is made at once; should the next watch fail the same way, a hub in trouble is not made to
      // list again and again.
      const recent = performance.now() - listedAtMs < timing.healthyMs;
      if (!recent) return 'list';
      setState('failing', {
        reason: 'Refused',
        message: `the hub ${client.url} forgets ${label} as soon as it was listed`,
      });
      await pause(waits.next());
      return 'list';
    }
    if (error instanceof MissingKind) return await recoverMissing();
    const setback = asSetback(error, doing);
    const momentMs = setback.retryAfterMs === undefined ? undefined : busy.next(setback.retryAfterMs);
    if (momentMs !== undefined) {
      await pause(momentMs);
      return doing === 'check' ? 'check' : setback.next;
    }
    setState('failing', setback.fault);
    await pause((setback.fault.reason === 'Unavailable' ? unreachable : waits).next());
    return resourceVersion === '' ? 'list' : setback.next;
  }

  async function recoverMissing(): Promise<Step> {
    missingSeen += 1;
    // A wrong answer of something in front of the hub must not take every cluster away.
    if (resourceVersion !== '' && missingSeen <= timing.goneConfirmations) {
      setState('failing', { reason: 'Missing', message: `the hub ${client.url} no longer has ${label}` });
      await pause(Math.min(timing.closePollMs * 2, timing.missingPollMs));
      return 'list';
    }
    lastConfirmedAtMs = now();
    resourceVersion = '';
    waits.reset();
    const changes = objects.swap([]);
    setState('missing', undefined, true);
    tell(changes);
    const close = performance.now() < closeLookUntilMs;
    const pollMs = options.missingPollMs?.() ?? timing.missingPollMs;
    await pause((close ? timing.closePollMs : pollMs) * (0.75 + random() / 2));
    return 'list';
  }

  function asSetback(error: unknown, doing: Step): Setback {
    if (error instanceof Setback) return error;
    const after: Step = doing === 'list' ? 'list' : 'check';
    if (error instanceof GatewayError) return new Setback('Unavailable', error.message, after);
    return new Setback('Malformed', `a list of ${label} on ${client.url} cannot be read: ${wordsOf(error)}`, 'list');
  }

  async function run(): Promise<void> {
    let step: Step = 'list';
    while (!stopping.signal.aborted) {
      try {
        if (step === 'list') {
          await list();
          step = 'watch';
        } else if (step === 'check') step = await check();
        else step = await watch();
      } catch (error) {
        if (stopping.signal.aborted) break;
        step = await recover(error, step);
      }
    }
  }

  void run();

  return {
    resource,
    synced: first.promise,
    get objects() {
      return objects.current();
    },
    state: () => Object.freeze({ ...state, lastConfirmedAtMs, resourceVersion }),
    lookAgain() {
      closeLookUntilMs = performance.now() + timing.closeLookMs;
      if (state.phase === 'missing' || state.phase === 'failing') wake();
    },
    close() {
      stopping.abort();
      wake();
      first.reject(hubUnavailable(client.url, `${label} was not listed before the gateway stopped`));
      setState('closed');
    },
  };
}

/**
 * kube-apiserver's answer for an unknown group is plain text, for an unknown resource of a known one a Status; a
 * balancer's is neither.
 */
function isOwnNotFound(body: Buffer): boolean {
  return body.toString('utf8', 0, 64).trim() === '404 page not found' || readStatus(body).code === 404;
}

/** The body of a watch that was refused, cut where it is longer than any Status. */
async function readRefusal(stream: HubStream): Promise<HubAnswer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream.chunks) {
      parts.push(chunk);
      bytes += chunk.length;
      if (bytes > statusBytes) break;
    }
  } finally {
    stream.close();
  }
  return { status: stream.status, retryAfterMs: stream.retryAfterMs, body: Buffer.concat(parts) };
}

/** Our own words only: other messages may quote an object. */
function wordsOf(error: unknown): string {
  return error instanceof MalformedAnswer ? error.message : 'unknown fault';
}
