// Two replicas behind a balancer that the hub's APIService points to, one of them killed under load. The aggregator
// multiplexes over HTTP/2, 100 streams a connection, so many watches make several connections and both replicas have
// some. A client of Kubernetes resumes a watch from the last version it saw and repeats a request that failed, so these
// clients do just that, and nothing more.
// Runs alone: a replica is killed in the middle of a steady load.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Agent, request as httpsRequest } from 'node:https';

import { gatewayUser } from '../../controlplane/fixture-types.ts';
import { startBalancer } from '../../hub/balancer.ts';
import type { Balancer } from '../../hub/balancer.ts';
import { clusterPath, startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { eventually } from '../../site/polling.ts';

const watchCount = 200;
const requestsPerSecond = 200;
const changeCount = 60;
const configMaps = '/api/v1/namespaces/team-a/configmaps';
const through = clusterPath('m1') + configMaps;
let site: HubSite;
let balancer: Balancer;
let agent: Agent;
let watches: readonly ResumingWatch[] = [];

before(async () => {
  site = await startHubSite({ groups: ['gateway.portcullis.io'] });
  const second = await site.startGateway();
  balancer = await startBalancer([site.gateway.port, second.port]);
  await site.register(balancer.port, ['gateway.portcullis.io']);
  agent = new Agent({ keepAlive: true, ca: site.hub.caPem, maxSockets: Infinity });
});

after(async () => {
  for (const watch of watches) watch.stop();
  agent?.destroy();
  balancer?.close();
  await site?.stop();
});

/** Asks the hub as alice; resolves with the status of a whole answer. */
function get(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(`${site.hub.url}${path}`, { agent, headers: authorization() }, (response) => {
      response.on('error', reject);
      response.on('end', () => resolve(response.statusCode!));
      response.resume();
    });
    request.setTimeout(20_000, () => request.destroy(new Error('no answer in 20 s')));
    request.on('error', reject);
    request.end();
  });
}

function authorization(): { readonly authorization: string } {
  return { authorization: `Bearer ${site.hub.users.alice.token}` };
}

/** One watch that resumes where it was, as an informer does. */
class ResumingWatch {
  readonly seen: string[] = [];
  resumed = 0;
  open = false;
  #version: string;
  #stopped = false;

  constructor(version: string) {
    this.#version = version;
    void this.#run();
  }

  stop(): void {
    this.#stopped = true;
  }

  async #run(): Promise<void> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      if (attempt > 0) this.resumed += 1;
      await this.#once().catch(() => undefined);
      this.open = false;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #once(): Promise<void> {
    return new Promise((resolve, reject) => {
      const path = `${through}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#version}`;
      const request = httpsRequest(`${site.hub.url}${path}`, { agent, headers: authorization() }, (response) => {
        this.open = response.statusCode === 200;
        let rest = '';
        response.setEncoding('utf8');
        response.on('data', (text: string) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop()!;
          if (response.statusCode === 200) for (const line of lines) this.#take(JSON.parse(line) as WatchEvent);
        });
        response.on('error', reject);
        response.on('end', resolve);
      });
      request.on('error', reject);
      request.end();
    });
  }

  #take({ type, object }: WatchEvent): void {
    assert.notEqual(type, 'ERROR', JSON.stringify(object));
    this.#version = object.metadata.resourceVersion;
    if (type !== 'BOOKMARK') this.seen.push(`${type} ${object.metadata.name}`);
  }
}

interface WatchEvent {
  readonly type: string;
  readonly object: { readonly metadata: { readonly name?: string; readonly resourceVersion: string } };
}

test(`of two replicas one is killed during ${watchCount} watches and ${requestsPerSecond} requests/s`, async (t) => {
  const [member] = site.members;
  const list = JSON.parse((await member!.request('GET', configMaps)).body) as WatchEvent['object'];
  watches = Array.from({ length: watchCount }, () => new ResumingWatch(list.metadata.resourceVersion));
  await eventually('all watches are open', () => watches.every(({ open }) => open), { timeoutMs: 60_000 });

  const outcomes: Promise<{ readonly status: number; readonly tries: number }>[] = [];
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const due = ((performance.now() - startedMs) / 1000) * requestsPerSecond;
    while (outcomes.length < due) outcomes.push(askAgain());
  }, 5);
  // A test that fails must not ask for ever.
  t.after(() => clearInterval(timer));
  const expected: string[] = [];
  for (let at = 0; at < changeCount; at++) {
    const answer = await member!.request('POST', configMaps, { metadata: { name: `change-${at}` } });
    assert.equal(answer.status, 201, answer.body);
    expected.push(`ADDED change-${at}`);
    if (at === changeCount / 3) await site.gateway.stop('SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  clearInterval(timer);
  const asked = await Promise.all(outcomes);
  await eventually('every watch has every change', () => watches.every(({ seen }) => seen.length >= changeCount), {
    timeoutMs: 60_000,
  });
  for (const watch of watches) {
    assert.deepEqual(watch.seen, expected, 'each change once and in order, over the death of a replica');
  }
  const resumed = watches.filter((watch) => watch.resumed > 0).length;
  assert.ok(resumed > 0, 'the killed replica had watches');
  assert.deepEqual(new Set(asked.map(({ status }) => status)), new Set([200]), 'requests succeed, at most repeated');
  const repeated = asked.filter(({ tries }) => tries > 1).length;
  t.diagnostic(`${asked.length} requests, ${repeated} of them repeated; ${resumed} of ${watchCount} watches resumed`);

  const strangers = (await member!.audit()).filter(
    ({ user, impersonatedUser, requestURI }) =>
      user.username === gatewayUser &&
      requestURI.startsWith(configMaps) &&
      impersonatedUser?.username !== site.hub.users.alice.name,
  );
  assert.deepEqual(strangers, [], 'nobody came to the member as somebody else');
});

/** As client-go's callers do with a connection that broke or the aggregator's own 503: once more, at most ten times. */
async function askAgain(): Promise<{ readonly status: number; readonly tries: number }> {
  let status = 0;
  for (let tries = 1; tries <= 10; tries++) {
    status = await get(`${through}?limit=1`).catch(() => 0);
    if (status !== 0 && status !== 503) return { status, tries };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { status, tries: 10 };
}
