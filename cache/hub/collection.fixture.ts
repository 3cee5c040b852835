// One collection of a test hub with lists, pages and watches. Versions count over the whole collection, as etcd's do: a
// watch from version N gets every event after N, or 410 when those are compacted away.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HubObject } from './hub-types.ts';

interface Event {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: HubObject;
}

export interface TestCollection {
  /** Answers one request; hand it to {@link startTestHub}. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Makes or changes an object. */
  put(name: string, fields?: object): HubObject;
  remove(name: string): void;
  /** Sends a bookmark of the present version to every watch. */
  bookmark(): void;
  /** Forgets all events so far: a watch from before is answered 410. */
  compact(): void;
  /** Watches open now. */
  readonly watches: Set<ServerResponse>;
  readonly version: () => number;
  /** Back to an earlier version with the present objects, as after a restored backup. */
  rewind(version: number): void;
}

/** @param intercept takes a request away by returning true; `watch` is false for lists */
export function makeTestCollection(
  intercept: (url: URL, response: ServerResponse, request: IncomingMessage) => boolean = () => false,
): TestCollection {
  const objects = new Map<string, HubObject>();
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

/** A `metav1.Status` as kube-apiserver writes it. */
export function answerStatus(response: ServerResponse, code: number, reason: string): void {
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(statusObject(code, reason)));
}

export function statusObject(code: number, reason: string): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'no', reason, code };
}
