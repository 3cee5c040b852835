// A client that lists once, watches from there and keeps what it was told, as an informer does, and notes whatever no
// watch may say. Easy to get wrong: what came after the last bookmark comes again when the watch is taken up there, so
// events count when their bookmark has come.
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** What a watcher needs of an object. */
interface Watched {
  readonly metadata: { readonly uid: string; readonly name: string; readonly resourceVersion: string };
}

interface WatchEvent {
  readonly type: string;
  readonly object: Watched & { readonly code?: number };
}

export interface ReplayedWatchOptions {
  readonly name: string;
  /** Port on 127.0.0.1, of the gateway or of a line to it. */
  readonly port: number;
  readonly ca: string;
  readonly token: string;
  /** Of the collection, without query. */
  readonly path: string;
  /**
   * Since when members may have been set back: then each object may go back to an older version once, or come again.
   */
  readonly isSetBack: () => boolean;
}

export interface ReplayedWatch {
  readonly name: string;
  /** Version by uid, as far as bookmarks have confirmed it. */
  versions(): ReadonlyMap<string, bigint>;
  /** What was told and may not be told. */
  readonly faults: readonly string[];
  readonly counts: { readonly lists: number; readonly watches: number; readonly events: number };
  close(): Promise<void>;
}

/** Starts it; it goes on over every failure until closed. */
export function startReplayedWatch(options: ReplayedWatchOptions): ReplayedWatch {
  const { name, isSetBack } = options;
  const closing = new AbortController();
  const faults: string[] = [];
  const counts = { lists: 0, watches: 0, events: 0 };
  let versions = new Map<string, bigint>();
  const newest = new Map<string, bigint>();
  const setBack = new Set<string>();
  let from: string | undefined;

  function note({ metadata }: Watched, type: string): bigint {
    const { uid } = metadata;
    const version = BigInt(metadata.resourceVersion);
    const known = newest.get(uid);
    const isNew = known === undefined || version > known || (type === 'list' && version === known);
    if (!isNew) {
      if (isSetBack() && !setBack.has(uid)) setBack.add(uid);
      else faults.push(`${type} ${metadata.name} ${uid}: ${version} after ${known}`);
    }
    newest.set(uid, version);
    return version;
  }

  function take({ type, object }: WatchEvent): void {
    counts.events += 1;
    const { uid } = object.metadata;
    if (type === 'DELETED') {
      if (!versions.delete(uid)) faults.push(`DELETED ${object.metadata.name} ${uid}, which was not there`);
      return;
    }
    if ((type === 'ADDED') === versions.has(uid))
      faults.push(`${type} ${object.metadata.name} ${uid} at the wrong time`);
    versions.set(uid, note(object, type));
  }

  async function list(): Promise<void> {
    const answer = await open(options, '', closing.signal);
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    if (answer.statusCode !== 200) return;
    const { items, metadata } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      readonly items: readonly Watched[];
      readonly metadata: { readonly resourceVersion: string };
    };
    counts.lists += 1;
    versions = new Map(items.map((item) => [item.metadata.uid, note(item, 'list')]));
    from = metadata.resourceVersion;
  }

  async function watch(): Promise<void> {
    const answer = await open(options, `?watch=1&allowWatchBookmarks=true&resourceVersion=${from}`, closing.signal);
    if (answer.statusCode === 410) from = undefined;
    if (answer.statusCode !== 200) {
      answer.resume();
      return;
    }
    counts.watches += 1;
    let rest = '';
    let unconfirmed: WatchEvent[] = [];
    answer.setEncoding('utf8');
    for await (const text of answer) {
      const lines = (rest + String(text)).split('\n');
      rest = lines.pop()!;
      for (const line of lines) {
        const event = JSON.parse(line) as WatchEvent;
        if (event.type === 'ERROR') {
          if (event.object.code === 410) from = undefined;
          return;
        }
        if (event.type !== 'BOOKMARK') unconfirmed.push(event);
        else {
          for (const each of unconfirmed) take(each);
          unconfirmed = [];
          from = event.object.metadata.resourceVersion;
        }
      }
    }
  }

  const running = (async () => {
    while (!closing.signal.aborted) {
      try {
        await (from === undefined ? list() : watch());
      } catch {
        // It was cut, or nobody listens: that is what this is for.
      }
      await delay(50);
    }
  })();
  return {
    name,
    versions: () => versions,
    faults,
    counts,
    async close() {
      closing.abort();
      await running;
    },
  };
}

function open(
  { port, ca, token, path }: ReplayedWatchOptions,
  query: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const asked = request({ host: '127.0.0.1', port, path: path + query, ca, agent: false, headers, signal }, resolve);
    asked.once('error', reject);
    asked.end();
  });
}
