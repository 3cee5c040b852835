// Watches: the stream of changes of a collection from a resourceVersion on, with bookmarks and initial events
// (KEP-3157). An object that leaves the selector is DELETED for this watcher, one that enters it is ADDED.
import { commonHeaders } from './answer.ts';
import type { Call } from '../cluster.ts';
import { checkResourceVersion, includeObjectOf, numberOf, stateAt } from './list.ts';
import { isTrue } from './request-info.ts';
import { apiVersionOf, fieldGettersOf, type Resource } from '../store/resources.ts';
import { matcherOf } from '../store/selectors.ts';
import { expired, invalidOption } from './status-error.ts';
import type { StoreEvent } from '../store/store.ts';
import type { JsonObject, KubeObject } from '../types.ts';
import { objectText, shaped } from '../wire/wire.ts';

const bookmarkPeriodMs = 60_000;
const backlogLimitBytes = 16 * 1024 * 1024;
const defaultTimeoutSeconds = 1800;

/** Answers a watch; returns once the stream was begun, the rest happens in callbacks. */
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

/** The events of one watch on their way to its client. */
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
    const matchesQuery = matcherOf(query, resource.key, fieldGettersOf(resource));
    this.#selects = (object) =>
      (info.namespace === '' || object.metadata.namespace === info.namespace) &&
      (info.name === '' || object.metadata.name === info.name) &&
      matchesQuery(object);
    this.#hasBookmarks = isTrue(query.get('allowWatchBookmarks'));
  }

  /** Sends an object of the initial state. */
  begin(object: KubeObject): void {
    if (this.#selects(object)) this.#send('ADDED', object);
  }

  /** Sends a change as it looks through the selector. */
  relay(event: StoreEvent): void {
    const is = event.type !== 'DELETED' && this.#selects(event.object);
    const was = event.previous !== undefined && this.#selects(event.previous);
    if (is) this.#send(was ? 'MODIFIED' : 'ADDED', event.object);
    else if (was) this.#send('DELETED', event.type === 'DELETED' ? event.object : gone(event));
  }

  /** Sends the present revision, if the client asked for bookmarks. */
  bookmark(isEndOfInitial: boolean): void {
    if (!this.#hasBookmarks) return;
    const { kind } = this.#resource;
    const resourceVersion = String(this.#call.cluster.store.revision);
    const metadata: JsonObject = { resourceVersion, creationTimestamp: null };
    if (isEndOfInitial) metadata['annotations'] = { 'k8s.io/initial-events-end': 'true' };
    const object = { kind, apiVersion: apiVersionOf(this.#resource), metadata };
    this.#send('BOOKMARK', object as unknown as KubeObject);
  }

  /** Sends what happens from now on, until the time is over, the client leaves or the simulator closes. */
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

/** The object as it left the selector: its last selected state, at the revision of the change. */
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
