// A collection of a test API server that answers lists (with pages) and watches over HTTP, from an object tracker. A
// watch from version N gets every event after N, or 410 when the events since N were compacted.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiObject } from '../types.ts';
import { ObjectTracker } from '../../test/pretend/object-tracker.ts';

const things = 'things.example.io';
const namespace = 'ns';

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
  const tracker = new ObjectTracker();
  const watches = new Set<ServerResponse>();

  function list(url: URL, response: ServerResponse): void {
    const limit = Number(url.searchParams.get('limit') ?? Number.POSITIVE_INFINITY);
    const [listed, start] = (url.searchParams.get('continue') ?? `${tracker.version}:0`).split(':').map(Number);
    const all = tracker.list(things);
    const items = all.slice(start, (start ?? 0) + limit);
    const end = (start ?? 0) + items.length;
    const metadata = { resourceVersion: String(listed), ...(end < all.length ? { continue: `${listed}:${end}` } : {}) };
    response.end(
      JSON.stringify({ kind: 'ThingList', apiVersion: 'v1', metadata, items: items.length === 0 ? null : items }),
    );
  }

  function watch(url: URL, response: ServerResponse): void {
    watches.add(response);
    const stop = tracker.watch(things, undefined, Number(url.searchParams.get('resourceVersion')), (event) => {
      if (watches.has(response)) response.write(`${JSON.stringify(event)}\n`);
    });
    response.once('close', () => (watches.delete(response), stop?.()));
    if (stop !== undefined) response.flushHeaders();
    else if (watches.delete(response)) answerStatus(response, 410, 'Expired');
  }

  return {
    watches,
    version: () => Number(tracker.version),
    handle(request, response) {
      const url = new URL(request.url ?? '', 'https://hub');
      if (intercept(url, response, request)) return;
      if (url.searchParams.get('watch') === 'true') watch(url, response);
      else list(url, response);
    },
    put: (name, fields = {}) => tracker.apply(things, { ...fields, metadata: { name, namespace } }),
    remove: (name) => tracker.delete({ collection: things, namespace, name }),
    bookmark() {
      const object = { kind: 'Thing', metadata: { resourceVersion: tracker.version } };
      for (const response of watches) response.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
    },
    compact: () => tracker.compact(),
    rewind: (to) => tracker.rewind(to),
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
