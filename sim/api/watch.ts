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
  const { cluster, query, reply, info } = call;
  const { store } = cluster;
  const matchesQuery = matcherOf(query, resource.key, fieldGettersOf(resource));
  const selects = (object: KubeObject): boolean =>
    (info.namespace === '' || object.metadata.namespace === info.namespace) &&
    (info.name === '' || object.metadata.name === info.name) &&
    matchesQuery(object);
  const hasBookmarks = isTrue(query.get('allowWatchBookmarks'));
  const wanted = query.get('resourceVersion') ?? '';
  const sendsInitial = query.get('sendInitialEvents');
  checkWatchOptions(sendsInitial, query.get('resourceVersionMatch') ?? '');
  const from = checkResourceVersion(cluster, wanted);
  const timeoutSeconds = numberOf(query.get('timeoutSeconds')) || defaultTimeoutSeconds;

  reply.writeHead(200, commonHeaders(call, 'application/json'));
  reply.flushHeaders();
  const sentHeads = { table: false };
  const send = (type: string, object: KubeObject): void => {
    const text =
      call.accept.shape === 'object' ? objectText(resource, object) : shapedText(call, resource, object, sentHeads);
    write(`{"type":"${type}","object":${text}}\n`);
  };
  const write = (line: string): void => {
    if (reply.destroyed) return;
    reply.write(line);
    if (reply.writableLength > backlogLimitBytes) reply.destroy();
  };
  const bookmark = (isEndOfInitial: boolean): void => {
    const metadata: JsonObject = { resourceVersion: String(store.revision), creationTimestamp: null };
    if (isEndOfInitial) metadata['annotations'] = { 'k8s.io/initial-events-end': 'true' };
    send('BOOKMARK', { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata } as unknown as KubeObject);
  };
  const relay = (event: StoreEvent): void => {
    const is = event.type !== 'DELETED' && selects(event.object);
    const was = event.previous !== undefined && selects(event.previous);
    if (is) send(was ? 'MODIFIED' : 'ADDED', event.object);
    else if (was) send('DELETED', event.type === 'DELETED' ? event.object : gone(event));
  };

  const startsFresh = sendsInitial === null ? wanted === '' || wanted === '0' : isTrue(sendsInitial);
  const missed = startsFresh ? [] : store.since(resource.key, from === 0 ? store.revision : from);
  if (missed === undefined) {
    const status = expired(`too old resource version: ${from} (${store.oldest})`).toStatus();
    reply.end(`{"type":"ERROR","object":${JSON.stringify(status)}}\n`);
    return;
  }
  if (startsFresh)
    for (const object of stateAt(cluster, resource.key, store.revision)) if (selects(object)) send('ADDED', object);
  for (const event of missed) relay(event);
  if (hasBookmarks && isTrue(sendsInitial)) bookmark(true);

  const ends: (() => void)[] = [];
  const finish = (): void => {
    for (const end of ends.splice(0)) end();
    if (!reply.writableEnded) reply.end();
  };
  ends.push(store.subscribe(resource.key, relay));
  if (hasBookmarks) ends.push(cluster.timers.every(bookmarkPeriodMs, () => bookmark(false)));
  ends.push(
    cluster.timers.after(timeoutSeconds * 1000, () => {
      if (hasBookmarks) bookmark(false);
      finish();
    }),
  );
  ends.push(cluster.trackStream(finish));
  reply.once('close', finish);
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
