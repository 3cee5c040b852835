// Watches of objects made from cluster records. When an object stops matching the selector of a watch, the watch sends
// DELETED; when it starts to match, ADDED. Therefore each event compares the record before and after the change.
import { GatewayError } from '../../model/errors.ts';
import { ownHeaders } from '../../http/own-headers.ts';
import type { ClusterEvent } from '../../model/cluster-events.ts';
import type { ClusterReader } from '../../model/store.ts';
import type { OpenStream, OpenStreams } from '../../routing/forward/open-streams.ts';
import { acceptedForm } from '../../request/answer/accept.ts';
import type { AcceptedForm } from '../../request/answer/accept.ts';
import { groupVersionOf } from '../../request/api-groups.ts';
import type { Authorized } from '../../request/exchange.ts';
import { queryFlag, queryValue } from '../../request/request-info.ts';
import { listed, metaGroup, objectMatcher, partialOf, tableOf } from './served-resource.ts';
import type { ServedObject, ServedResource } from './served-resource.ts';

/** The parts of the gateway that a watch of clusters uses. */
export interface WatchParts {
  readonly store: ClusterReader;
  readonly openStreams: OpenStreams;
  /** Milliseconds between two bookmarks; kube-apiserver sends one about every minute. */
  readonly bookmarkIntervalMs: number;
}

/**
 * When a client leaves more than this many bytes of its watch unread, its connection is cut, as in kube-apiserver. The
 * client then lists again and starts a new watch.
 */
const maxUnreadBytes = 4 * 1024 * 1024;
/**
 * Longest duration of a watch in seconds, about 23 days; a longer `timeoutSeconds` is shortened to it. A Node timer
 * cannot be longer than 24.8 days.
 */
const longestWatchSeconds = 2_000_000;

/**
 * Answers a watch; resolves when the watch has ended.
 * @throws GatewayError with the code for 400, 405, 406, 410 or 422, always before any byte was sent
 */
export function watchResource(state: Authorized, resource: ServedResource, parts: WatchParts): Promise<void> {
  const { query } = state.target;
  if (state.inbound.method !== 'GET') throw new GatewayError('METHOD_NOT_ALLOWED', 'a watch must be requested by GET');
  const form = acceptedForm(state.headers, ['Table', '', 'PartialObjectMetadata']).as;
  const matches = objectMatcher(query);
  const bookmarks = queryFlag(query, 'allowWatchBookmarks');
  const initial = wantsInitialEvents(query, bookmarks);
  const from = queryValue(query, 'resourceVersion') ?? '';
  const past = initial || from === '' || from === '0' ? undefined : parts.store.eventsSince(from);
  if (past === 'expired') throw new GatewayError('EXPIRED', `too old resource version: ${from}`);
  const timeoutSeconds = Math.min(Number(queryValue(query, 'timeoutSeconds') ?? 0), longestWatchSeconds);
  const watch = new ServedWatch(state, resource, parts.store, { form, matches });
  watch.start(past, initial);
  return watch.follow(parts, bookmarks, timeoutSeconds);
}

/** What a watch request asks for: the form of the objects, and which objects. */
interface Selection {
  readonly form: AcceptedForm['as'];
  readonly matches: (object: ServedObject) => boolean;
}

class ServedWatch {
  readonly #state: Authorized;
  readonly #resource: ServedResource;
  readonly #store: ClusterReader;
  readonly #selection: Selection;
  #unreadBytes = 0;
  #isFirstTable = true;

  constructor(state: Authorized, resource: ServedResource, store: ClusterReader, selection: Selection) {
    this.#state = state;
    this.#resource = resource;
    this.#store = store;
    this.#selection = selection;
  }

  /**
   * Sends the head of the answer, then the events after the resourceVersion that the client gave (`past`). When `past`
   * is undefined, an ADDED event for each existing object is sent instead.
   */
  start(past: readonly ClusterEvent[] | undefined, initial: boolean): void {
    const { inbound, auditId, progress } = this.#state;
    inbound.onDrain(() => (this.#unreadBytes = 0));
    progress.status = 200;
    progress.onAnswering?.();
    inbound.respond(200, ownHeaders(auditId), false);
    if (past === undefined) {
      for (const object of listed(this.#resource, this.#store)) {
        if (this.#selection.matches(object)) this.#sendObject('ADDED', object);
      }
    } else for (const event of past) this.#sendEvent(event);
    if (initial) this.#bookmark({ 'k8s.io/initial-events-end': 'true' });
  }

  /**
   * Sends events until the client goes away, `timeoutSeconds` have passed (0 means no limit) or the gateway ends the
   * watch. Resolves at the end.
   */
  follow(
    { store, openStreams, bookmarkIntervalMs }: WatchParts,
    bookmarks: boolean,
    timeoutSeconds: number,
  ): Promise<void> {
    const { inbound, progress, observation } = this.#state;
    const { promise, resolve } = Promise.withResolvers<void>();
    const unsubscribe = store.subscribe((event) => this.#sendEvent(event));
    const ticking = bookmarks ? setInterval(() => this.#bookmark(), bookmarkIntervalMs) : undefined;
    const ending = timeoutSeconds > 0 ? setTimeout(() => finish(), timeoutSeconds * 1000) : undefined;
    const finish = (): void => {
      unsubscribe();
      clearInterval(ticking);
      clearTimeout(ending);
      openStreams.delete(open);
      inbound.end();
      resolve();
    };
    const open: OpenStream = {
      kind: 'watch',
      clusterName: '',
      clusterUid: '',
      endAtBoundary: () => {
        finish();
        return true;
      },
      abort: finish,
      end(reason, statusJson) {
        observation.error ??= reason;
        inbound.write(Buffer.from(`{"type":"ERROR","object":${statusJson}}\n`));
        finish();
      },
      // 0 stands for "not blocked", so that the gateway's check for slow clients (gateway/limits/slow-clients.ts) does
      // not end this watch: #send has its own limit for unread bytes.
      blockedSinceMs: 0,
    };
    openStreams.add(open);
    progress.open = open;
    inbound.onClose(finish);
    return promise;
  }

  #send(type: string, object: object): void {
    const { inbound, progress } = this.#state;
    const line = Buffer.from(`${JSON.stringify({ type, object })}\n`);
    progress.bytesOut += line.length;
    this.#unreadBytes = inbound.write(line) ? 0 : this.#unreadBytes + line.length;
    if (this.#unreadBytes > maxUnreadBytes) inbound.abort();
  }

  #sendObject(type: string, object: ServedObject): void {
    const { form } = this.#selection;
    if (form === '') this.#send(type, object.whole());
    else if (form !== 'Table') this.#send(type, partialOf(object));
    else {
      const { query } = this.#state.target;
      this.#send(type, tableOf(this.#resource, [object], object.resourceVersion, query, this.#isFirstTable));
      this.#isFirstTable = false;
    }
  }

  #sendEvent(event: ClusterEvent): void {
    const change = changeOf(event, this.#resource, this.#selection.matches);
    if (change !== undefined) this.#sendObject(change.type, change.object);
  }

  #bookmark(annotations?: Record<string, string>): void {
    const { resourceVersion } = this.#store;
    const metadata = { resourceVersion, creationTimestamp: null, ...(annotations && { annotations }) };
    this.#send('BOOKMARK', bookmarkObject(this.#resource, this.#selection.form, metadata));
  }
}

/**
 * Whether the client asked for a streaming list (KEP-3157): a watch that begins with an ADDED event for every existing
 * object, followed by a bookmark that says that these are all.
 * @throws GatewayError INVALID when the query lacks a parameter that a streaming list needs
 */
function wantsInitialEvents(query: string, bookmarks: boolean): boolean {
  if (!queryFlag(query, 'sendInitialEvents')) return false;
  if (queryValue(query, 'resourceVersionMatch') !== 'NotOlderThan') {
    throw new GatewayError('INVALID', 'sendInitialEvents needs resourceVersionMatch=NotOlderThan');
  }
  if (!bookmarks) throw new GatewayError('INVALID', 'sendInitialEvents needs allowWatchBookmarks=true');
  return true;
}

/**
 * The event to send to a client. Undefined when the client's selector matches the object neither before nor after the
 * change, or when the change alters nothing that the object shows.
 */
function changeOf(
  { type, record, previous }: ClusterEvent,
  resource: ServedResource,
  matches: (object: ServedObject) => boolean,
): { readonly type: ClusterEvent['type']; readonly object: ServedObject } | undefined {
  if (resource.fixed.some(({ name }) => name === record.spec.name)) return undefined;
  const selected = (object: ServedObject | undefined): ServedObject | undefined =>
    object !== undefined && matches(object) ? object : undefined;
  const now = selected(resource.of(record));
  if (type !== 'MODIFIED') return now && { type, object: now };
  // When an object stops matching the selector, kube-apiserver sends the object as it was before the change, but with
  // the resourceVersion of the change.
  const before = previous && selected(resource.of({ ...previous, resourceVersion: record.resourceVersion }));
  if (now === undefined) return before && { type: 'DELETED', object: before };
  if (before === undefined) return { type: 'ADDED', object: now };
  if (!resource.showsProbe && previous?.spec === record.spec) return undefined;
  return { type, object: now };
}

function bookmarkObject(resource: ServedResource, form: AcceptedForm['as'], metadata: object): object {
  if (form === '') return { apiVersion: groupVersionOf(resource.group), kind: resource.kind, metadata };
  const partial = { kind: 'PartialObjectMetadata', apiVersion: metaGroup, metadata };
  if (form !== 'Table') return partial;
  return {
    kind: 'Table',
    apiVersion: metaGroup,
    metadata,
    columnDefinitions: null,
    rows: [{ cells: [], object: partial }],
  };
}
