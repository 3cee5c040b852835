// Answers watches: sends the changes of a collection since a resourceVersion, with bookmarks and initial events
// (KEP-3157). When an object stops matching the watch's selector, the watch gets DELETED; when it starts matching,
// ADDED.
import { commonHeaders } from '../call/answer.ts';
import type { Call } from '../call/cluster.ts';
import { checkResourceVersion, includeObjectOf, numberOf, stateAt } from './list.ts';
import { isTrue } from '../model/request-info.ts';
import { apiVersionOf, type Resource } from '../store/resources.ts';
import { matcherOf } from '../store/selectors.ts';
import { expired, invalidOption } from '../model/status-error.ts';
import type { StoreEvent } from '../store/store.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import { objectText, shaped } from '../wire/wire.ts';

/** A watch that requested bookmarks gets one at this interval. */
const bookmarkPeriodMs = 60_000;
/** When this many bytes wait for a slow client, its watch is cut, so that the memory does not fill. */
const backlogLimitBytes = 16 * 1024 * 1024;
/** A watch without `timeoutSeconds` ends after this many seconds. */
const defaultTimeoutSeconds = 1800;

/** Starts a watch. Returns when the answer has begun; events are sent later. */
export function watchMany(call: Call, resource: Resource): void {
  const { cluster, query, reply } = call;
  const { store } = cluster;
  const wanted = query.get('resourceVersion') ?? '';
  const sendsInitial = query.get('sendInitialEvents');
  const watch = new Watch(call, resource);
  checkWatchOptions(sendsInitial, query.get('resourceVersionMatch') ?? '');
  const from = checkResourceVersion(cluster, wanted);

  reply.writeHead(200, commonHeaders(call, 'application/json'));
  reply.flushHeaders();
  const startsFresh = sendsInitial === null ? wanted === '' || wanted === '0' : isTrue(sendsInitial);
  const missed = startsFresh ? [] : store.since(resource.key, from === 0 ? store.revision : from);
  if (missed === undefined) {
    const status = expired(`too old resource version: ${from} (${store.oldest})`).toStatus();
    reply.end(`{"type":"ERROR","object":${JSON.stringify(status)}}\n`);
    return;
  }
  if (startsFresh) for (const object of stateAt(cluster, resource.key, store.revision)) watch.begin(object);
  for (const event of missed) watch.relay(event);
  if (isTrue(sendsInitial)) watch.bookmark(true);
  watch.follow(numberOf(query.get('timeoutSeconds')) || defaultTimeoutSeconds);
}

/** One watch: selects the events for its client and sends them. */
class Watch {
  readonly #call: Call;
  readonly #resource: Resource;
  readonly #selects: (object: KubeObject) => boolean;
  readonly #hasBookmarks: boolean;
  readonly #sentHeads = { table: false };

  constructor(call: Call, resource: Resource) {
    this.#call = call;
    this.#resource = resource;
    const { query, info } = call;
    const matchesQuery = matcherOf(query, resource);
    this.#selects = (object) =>
      (info.namespace === '' || object.metadata.namespace === info.namespace) &&
      (info.name === '' || object.metadata.name === info.name) &&
      matchesQuery(object);
    this.#hasBookmarks = isTrue(query.get('allowWatchBookmarks'));
  }

  /** Sends an object of the initial state, if the selector matches it. */
  begin(object: KubeObject): void {
    if (this.#selects(object)) this.#send('ADDED', object);
  }

  /**
   * Sends a change to the client as ADDED, MODIFIED or DELETED, depending on whether the object matches the selector
   * now and did before. Sends nothing when it matches neither now nor before.
   */
  relay(event: StoreEvent): void {
    const is = event.type !== 'DELETED' && this.#selects(event.object);
    const was = event.previous !== undefined && this.#selects(event.previous);
    if (is) this.#send(was ? 'MODIFIED' : 'ADDED', event.object);
    else if (was) this.#send('DELETED', event.type === 'DELETED' ? event.object : gone(event));
  }

  /** Sends a bookmark with the present revision, if the client requested bookmarks. */
  bookmark(isEndOfInitial: boolean): void {
    if (!this.#hasBookmarks) return;
    const { kind } = this.#resource;
    const resourceVersion = String(this.#call.cluster.store.revision);
    const metadata: JsonObject = { resourceVersion, creationTimestamp: null };
    if (isEndOfInitial) metadata['annotations'] = { 'k8s.io/initial-events-end': 'true' };
    const object = { kind, apiVersion: apiVersionOf(this.#resource), metadata };
    this.#send('BOOKMARK', object as unknown as KubeObject);
  }

  /** Sends all further changes, until the timeout, or until the client disconnects or the simulator closes. */
  follow(timeoutSeconds: number): void {
    const { cluster, reply } = this.#call;
    const ends: (() => void)[] = [];
    const finish = (): void => {
      for (const end of ends.splice(0)) end();
      if (!reply.writableEnded) reply.end();
    };
    ends.push(cluster.store.subscribe(this.#resource.key, (event) => this.relay(event)));
    if (this.#hasBookmarks) ends.push(cluster.timers.every(bookmarkPeriodMs, () => this.bookmark(false)));
    ends.push(
      cluster.timers.after(timeoutSeconds * 1000, () => {
        this.bookmark(false);
        finish();
      }),
    );
    ends.push(cluster.trackStream(finish));
    reply.once('close', finish);
  }

  #send(type: string, object: KubeObject): void {
    const { reply, accept } = this.#call;
    const text =
      accept.shape === 'object'
        ? objectText(this.#resource, object)
        : shapedText(this.#call, this.#resource, object, this.#sentHeads);
    if (reply.destroyed) return;
    reply.write(`{"type":"${type}","object":${text}}\n`);
    if (reply.writableLength > backlogLimitBytes) reply.destroy();
  }
}

/**
 * The DELETED object for a watch whose selector no longer matches: the last state that matched, with the
 * resourceVersion of the change.
 */
function gone(event: StoreEvent): KubeObject {
  const previous = event.previous ?? event.object;
  return { ...previous, metadata: { ...previous.metadata, resourceVersion: event.object.metadata.resourceVersion } };
}

function shapedText(call: Call, resource: Resource, object: KubeObject, sent: { table: boolean }): string {
  const table = { includeObject: includeObjectOf(call), now: call.cluster.now(), headers: !sent.table };
  sent.table = true;
  return JSON.stringify(shaped(resource, object, call.accept, table));
}

function checkWatchOptions(sendsInitial: string | null, match: string): void {
  const refuse = (why: string): never => {
    throw invalidOption('ListOptions', {
      reason: 'FieldValueForbidden',
      message: `Forbidden: ${why}`,
      field: 'resourceVersionMatch',
    });
  };
  if (sendsInitial !== null && match !== 'NotOlderThan')
    refuse('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  if (sendsInitial === null && match !== '')
    refuse('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
}
