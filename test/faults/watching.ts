// Clients as informers are: many watches over few HTTP/2 connections, each resumed where it was when it ends, and every
// event written down. Easy to get wrong: a watch that lists again would hide a lost event, so these only ever resume,
// and a 410 is a failure.
import { connect } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import type { StreamServer } from '../clients/stream-client.ts';

/** Watches a client puts on one connection; a server allows 100. */
const streamsPerSession = 90;

/** What one watch went through. */
export interface WatchRecord {
  /** `TYPE name resourceVersion` of every event, in order. */
  readonly seen: readonly string[];
  /** Times it was opened again. */
  readonly resumed: number;
  readonly isOpen: boolean;
  /** Longest time between an end and the next answer, milliseconds. */
  readonly longestGapMs: number;
  /** What no informer can take: an ERROR event, a status such as 410 or 403. */
  readonly faults: readonly string[];
  /** How each ended: `complete` in good order, `cut` otherwise. */
  readonly ends: readonly ('complete' | 'cut')[];
}

export interface Watching {
  readonly watches: readonly WatchRecord[];
  /** Watches that ended so far, with the time each did, in order. */
  readonly endedAtMs: readonly number[];
  close(): void;
}

interface Mutable {
  seen: string[];
  resumed: number;
  isOpen: boolean;
  longestGapMs: number;
  faults: string[];
  ends: ('complete' | 'cut')[];
}

/** Statuses after which an informer asks again: the gateway or the member is away. */
const passing: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/**
 * Opens them all from one version on.
 * @param pathOf path of the n-th watch, without a query
 * @param mark one more parameter of the query, to be found in the member's audit log
 */
export function startWatching(
  server: StreamServer,
  count: number,
  pathOf: (index: number) => string,
  resourceVersionOf: (index: number) => string,
  mark = '',
): Watching {
  const { origin } = new URL(server.url);
  const rooms: { session: ClientHttp2Session; left: number }[] = [];
  const sessions = new Set<ClientHttp2Session>();
  const endedAtMs: number[] = [];
  const closing = new AbortController();

  const sessionWithRoom = (): { session: ClientHttp2Session; left: number } => {
    const found = rooms.find(({ session, left }) => left > 0 && !session.closed && !session.destroyed);
    if (found !== undefined) return found;
    const session = connect(origin, { ca: server.caPem, settings: { enablePush: false } });
    const room = { session, left: streamsPerSession };
    const gone = (): void => {
      const at = rooms.indexOf(room);
      if (at >= 0) rooms.splice(at, 1);
    };
    session.on('error', () => undefined).on('goaway', gone);
    session.on('close', () => {
      gone();
      sessions.delete(session);
    });
    rooms.push(room);
    sessions.add(session);
    return room;
  };

  const open = (path: string, version: string, record: Mutable, since: number): Promise<string> => {
    const room = sessionWithRoom();
    room.left--;
    let last = version;
    return new Promise((resolve) => {
      const stream = room.session.request({
        ':path': `${path}?watch=true&allowWatchBookmarks=true&resourceVersion=${version}${mark === '' ? '' : `&${mark}`}`,
        ...server.headers,
      });
      let rest = '';
      let status = 0;
      let isComplete = false;
      stream.setEncoding('utf8');
      stream.on('response', (headers) => {
        status = Number(headers[':status']);
        record.isOpen = status === 200;
        if (record.isOpen) record.longestGapMs = Math.max(record.longestGapMs, performance.now() - since);
        else if (!passing.has(status)) record.faults.push(`status ${status}`);
      });
      stream.on('data', (text: string) => {
        if (status !== 200) return;
        const lines = (rest + text).split('\n');
        rest = lines.pop()!;
        for (const line of lines) {
          const { type, object } = JSON.parse(line) as WatchEvent;
          if (type === 'ERROR') {
            record.faults.push(line);
            continue;
          }
          last = object.metadata.resourceVersion;
          if (type !== 'BOOKMARK') record.seen.push(`${type} ${object.metadata.name} ${last}`);
        }
      });
      stream.on('end', () => (isComplete = !stream.aborted && stream.rstCode === 0));
      stream.on('error', () => undefined);
      stream.on('close', () => {
        room.left++;
        if (status === 200) {
          endedAtMs.push(performance.now());
          record.ends.push(isComplete ? 'complete' : 'cut');
        }
        record.isOpen = false;
        resolve(last);
      });
    });
  };

  const run = async (index: number, record: Mutable): Promise<void> => {
    let version = resourceVersionOf(index);
    for (let attempt = 0; !closing.signal.aborted; attempt++) {
      const since = performance.now();
      if (attempt > 0) record.resumed++;
      const ends = record.ends.length;
      version = await open(pathOf(index), version, record, since).catch(() => version);
      // client-go waits 0.8 s and up, with jitter; less here after an end in good order, so that gaps are the
      // gateway's.
      const restMs = record.ends.length > ends ? 50 : 800;
      if (!closing.signal.aborted) await new Promise((resolve) => setTimeout(resolve, restMs * (1 + Math.random())));
    }
  };

  const watches = Array.from({ length: count }, (_, index) => {
    const record: Mutable = { seen: [], resumed: 0, isOpen: false, longestGapMs: 0, faults: [], ends: [] };
    void run(index, record);
    return record;
  });
  return {
    watches,
    endedAtMs,
    close() {
      closing.abort();
      for (const session of sessions) session.destroy();
    },
  };
}

interface WatchEvent {
  readonly type: string;
  readonly object: { readonly metadata: { readonly name?: string; readonly resourceVersion: string } };
}
