// A collection of a test API server that answers lists (with pages) and watches. As in etcd, each change gets the next
// resourceVersion of the whole collection. A watch from version N gets every event after N, or 410 when the events
// since N were compacted.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiObject } from '../types.ts';

/** One change of the collection, as a watch sends it. */
interface Event {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ApiObject;
}

/** A collection of objects that a test API server lists and watches, and the methods with which a test changes it. */
export interface TestCollection {
  /** The request handler of this collection; pass it to {@link startTestHub}. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Creates an object of this name with these fields, or replaces the present one. Open watches get ADDED or MODIFIED.
   */
  put(name: string, fields?: object): ApiObject;
  remove(name: string): void;
  /** Sends a BOOKMARK event with the current resourceVersion to every open watch. */
  bookmark(): void;
  /**
   * Drops all past events, as etcd's compaction does: a watch that asks for an older resourceVersion is answered 410.
   */
  compact(): void;
  /** The answers of the watches that are open now. */
  readonly watches: Set<ServerResponse>;
  readonly version: () => number;
  /** Sets the resourceVersion back to `version` and keeps the objects, as when etcd was restored from a backup. */
  rewind(version: number): void;
}

/**
 * Makes an empty collection.
 * @param intercept called first for every request; it returns true when it has answered the request, and the collection
 * then does nothing
 */
export function makeTestCollection(
  intercept: (url: URL, response: ServerResponse, request: IncomingMessage) => boolean = () => false,
): TestCollection {
  const objects = new Map<string, ApiObject>();
  const watches = new Set<ServerResponse>();
  let events: Event[] = [];
  let version = 100;
  let oldest = 100;
  let uids = 0;

  function emit(event: Event): void {
    events.push(event);
    for (const watch of watches) watch.write(`${JSON.stringify(event)}\n`);
  }

  function list(url: URL, response: ServerResponse): void {
    const limit = Number(url.searchParams.get('limit') ?? Number.POSITIVE_INFINITY);
    const [listed, start] = (url.searchParams.get('continue') ?? `${version}:0`).split(':').map(Number);
    const items = [...objects.values()].slice(start, (start ?? 0) + limit);
    const end = (start ?? 0) + items.length;
    const metadata = {
      resourceVersion: String(listed),
      ...(end < objects.size ? { continue: `${listed}:${end}` } : {}),
    };
    response.end(
      JSON.stringify({ kind: 'ThingList', apiVersion: 'v1', metadata, items: items.length === 0 ? null : items }),
    );
  }

  function watch(url: URL, response: ServerResponse): void {
    const since = Number(url.searchParams.get('resourceVersion'));
    if (since < oldest) {
      answerStatus(response, 410, 'Expired');
      return;
    }
    response.flushHeaders();
    for (const event of events) {
      if (Number(event.object.metadata.resourceVersion) > since) response.write(`${JSON.stringify(event)}\n`);
    }
    watches.add(response);
    response.once('close', () => watches.delete(response));
  }

  return {
    watches,
    version: () => version,
    handle(request, response) {
      const url = new URL(request.url ?? '', 'https://hub');
      if (intercept(url, response, request)) return;
      if (url.searchParams.get('watch') === 'true') watch(url, response);
      else list(url, response);
    },
    put(name, fields = {}) {
      const old = objects.get(name);
      version += 1;
      uids += old === undefined ? 1 : 0;
      const uid = old?.metadata.uid ?? `uid-${uids}`;
      const object = { ...fields, metadata: { name, namespace: 'ns', uid, resourceVersion: String(version) } };
      objects.set(name, object);
      emit({ type: old === undefined ? 'ADDED' : 'MODIFIED', object });
      return object;
    },
    remove(name) {
      const old = objects.get(name);
      if (old === undefined) return;
      version += 1;
      objects.delete(name);
      emit({ type: 'DELETED', object: { ...old, metadata: { ...old.metadata, resourceVersion: String(version) } } });
    },
    bookmark() {
      const object = { kind: 'Thing', metadata: { resourceVersion: String(version) } };
      for (const response of watches) response.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
    },
    compact() {
      events = [];
      version += 1;
      oldest = version;
    },
    rewind(to) {
      version = to;
      oldest = 0;
      events = [];
      for (const [name, object] of objects) {
        objects.set(name, { ...object, metadata: { ...object.metadata, resourceVersion: String(to) } });
      }
    },
  };
}

/** Answers with a `metav1.Status`, as kube-apiserver does for errors. */
export function answerStatus(response: ServerResponse, code: number, reason: string): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(statusObject(code, reason)));
}

export function statusObject(code: number, reason: string): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'no', reason, code };
}
