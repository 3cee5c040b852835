// One watch over every cluster against a whole gateway; the events of each member are the test's. What a client that
// comes back would miss shows only in the versions that it was given, so these are looked at, and in what members are
// asked. Run by fanout.test.ts: a process of its own would load the whole gateway once more.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openRaw, requestBytes } from '../site/raw-client.ts';
import { kubeconfigText } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Site } from '../site/site.ts';
import { ask, live, pods, servePods, startFanoutSite } from './fanout-site.ts';

let site: Site;

async function listVersion(): Promise<string> {
  const { body } = await ask(site, `/clusters/*/proxy/api/v1/pods?${live}`);
  return (JSON.parse(body) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
}

interface Event {
  readonly type: string;
  readonly object: {
    readonly kind?: string;
    readonly code?: number;
    readonly metadata: { readonly name?: string; readonly resourceVersion: string; readonly annotations?: object };
  };
}

/** A watch under way: its events, one after another. */
async function watch(
  query: string,
  user = 'alice',
): Promise<{ next(): Promise<Event | undefined>; status: number; head: string; close(): void }> {
  const client = await openRaw(site);
  after(() => client.close());
  client.send(
    requestBytes(`GET /clusters/*/proxy/api/v1/pods?watch=true&${query}`, [`Authorization: Bearer ${user}-token`]),
  );
  const { status: code, head } = await client.answer({ headOnly: true });
  let read = 0;
  return {
    status: code,
    head,
    close: () => client.close(),
    async next() {
      for (;;) {
        const text = client.rest();
        const lines = text.split('\n').slice(0, -1);
        const events = lines.filter((line) => line.startsWith('{'));
        if (events.length > read) return JSON.parse(events[read++]!) as Event;
        if (text.endsWith('\r\n0\r\n\r\n') || text === '0\r\n\r\n') return undefined;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  };
}

/** Watches of members that are open, by the member's number; each is fed by the test. */
function serveWatches(): Map<number, { readonly target: string; send(event: string): void; cut(): void }[]> {
  const open = new Map<number, { readonly target: string; send(event: string): void; cut(): void }[]>();
  for (const [i, member] of site.members.entries()) {
    const watches: { readonly target: string; send(event: string): void; cut(): void }[] = [];
    open.set(i + 1, watches);
    member.answer = (request) => {
      if (!request.target.includes('watch=true')) return servePods(request, pods.get(`m${i + 1}`) ?? []);
      const { socket, target } = request;
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n');
      watches.push({
        target,
        send: (event) => socket.write(`${(event.length + 1).toString(16)}\r\n${event}\n\r\n`),
        cut: () => socket.destroy(),
      });
    };
  }
  return open;
}

const change = (type: string, name: string, version: number): string =>
  `{"type":"${type}","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}","resourceVersion":"${version}"}}}`;
const versionsIn = ({ object }: Event): Record<string, string> => {
  const versions = JSON.parse(Buffer.from(object.metadata.resourceVersion, 'base64url').toString()) as Record<
    string,
    string
  >;
  return Object.fromEntries(Object.entries(versions).map(([cluster, version]) => [cluster, version.split('.')[0]!]));
};

/** The tests of this file. */
export function watchTests(): void {
  describe('a watch over every cluster', () => {
    before(async () => {
      site = await startFanoutSite();
    });
    after(() => site.close());

    test('a watch goes on from the version of a list, and each event carries the version of all clusters', async () => {
      const open = serveWatches();
      const version = await listVersion();
      const events = await watch(`${live}&resourceVersion=${version}`);
      assert.equal(events.status, 200);
      assert.match(open.get(2)![0]!.target, /watch=true&resourceVersion=7&allowWatchBookmarks=true$/);
      open.get(2)![0]!.send(change('MODIFIED', 'd', 8));
      const first = (await events.next())!;
      assert.deepEqual([first.type, first.object.metadata.name], ['MODIFIED', 'd']);
      assert.deepEqual(first.object.metadata.annotations, { 'shadow.clusterpedia.io/cluster-name': 'm2' });
      assert.deepEqual(versionsIn(first), { m1: '7', m2: '8', m3: '7' });

      // Nothing is told of a member that breaks off; it is followed on from where it was.
      open.get(2)![0]!.cut();
      open.get(3)![0]!.send(change('DELETED', 'f', 9));
      const second = (await events.next())!;
      assert.deepEqual([second.type, versionsIn(second)], ['DELETED', { m1: '7', m2: '8', m3: '9' }]);
      const again = await waitFor(() => open.get(2)![1]);
      assert.match(again.target, /resourceVersion=8&/);
      again.send('{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"20"}}}');
      again.send(change('ADDED', 'n', 21));
      const third = (await events.next())!;
      assert.deepEqual([third.object.metadata.name, versionsIn(third)], ['n', { m1: '7', m2: '21', m3: '9' }]);
      events.close();
      const resumed = await watch(`${live}&resourceVersion=${second.object.metadata.resourceVersion}`);
      assert.equal(resumed.status, 200);
      assert.match(open.get(3)!.at(-1)!.target, /resourceVersion=9&/);
      resumed.close();
    });

    test('a watch without a version begins with everything there is, and a version of somebody else is 410', async () => {
      const open = serveWatches();
      const events = await watch(
        `${live}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      );
      const names = new Set<string>();
      for (let i = 0; i < 6; i += 1) {
        const { type, object } = (await events.next())!;
        assert.deepEqual([type, object.kind], ['ADDED', 'Pod']);
        names.add(object.metadata.name!);
      }
      assert.deepEqual([...names].toSorted(), ['a', 'b', 'c', 'd', 'e', 'f']);
      const { type, object } = (await events.next())!;
      assert.deepEqual([type, object.metadata.annotations], ['BOOKMARK', { 'k8s.io/initial-events-end': 'true' }]);
      await waitFor(() => open.get(1)!.length > 0);
      assert.doesNotMatch(open.get(1)![0]!.target, /sendInitialEvents|resourceVersionMatch/);
      events.close();
      const other = await watch(`resourceVersion=${object.metadata.resourceVersion}`, 'bob');
      assert.equal(other.status, 410);
      assert.doesNotMatch(other.head, /\bm2\b/);
    });

    test('a member whose version is too old, and a cluster that is removed, end the watch with 410; one that is added joins', async () => {
      const open = serveWatches();
      const version = await listVersion();
      const from = `${live}&resourceVersion=${version}`;
      const old = await watch(from);
      open
        .get(1)!
        .at(-1)!
        .send('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","metadata":{}}}');
      const gone = (await old.next())!;
      assert.deepEqual([gone.type, gone.object.code, await old.next()], ['ERROR', 410, undefined]);

      const events = await watch(from);
      const added = { ...site.contexts[2]!, name: 'm4', labels: {} };
      site.replace(site.files.kubeconfig, kubeconfigText([...site.contexts, added]));
      const joined = (await events.next())!;
      assert.deepEqual([joined.type, joined.object.metadata.name], ['ADDED', 'f']);
      assert.deepEqual(joined.object.metadata.annotations, {
        'shadow.clusterpedia.io/cluster-name': 'm4',
        '2': 'b',
        '1': 'a',
      });
      site.replace(site.files.kubeconfig, kubeconfigText(site.contexts));
      const removed = (await events.next())!;
      assert.deepEqual([removed.type, removed.object.code, await events.next()], ['ERROR', 410, undefined]);
    });
  });
}
