// FLT-07 and FLT-12: a member's line breaks in the middle of an answer, and a member that ends HTTP/2 connections or
// allows few streams. A line cut below TLS looks like a proper end to who does not ask for TLS's own, and an HTTP/2
// stream beyond the member's limit hangs without a word.
// Runs alone: it says within which seconds a fault is seen.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { http1Client, http2Client } from '../clients/stream-client.ts';
import type { OpenAnswer, StreamClient } from '../clients/stream-client.ts';
import { eventually } from '../site/polling.ts';
import { figure, printScale } from './scale.ts';
import { configMapsOf, startFaultSite } from './site.ts';
import type { FaultSite } from './site.ts';

const watchCount = 500;
let site: FaultSite;

before(async () => {
  printScale('broken lines', `${watchCount} watches`);
  site = await startFaultSite({ proxied: ['m1'], apiserverArgs: ['--goaway-chance=0.02'] });
  for (let i = 0; i < 3; i++) {
    const object = { metadata: { name: `big-${i}` }, data: { text: 'x'.repeat(900_000) } };
    const made = await site.member('m1').request('POST', '/api/v1/namespaces/default/configmaps', object);
    assert.equal(made.status, 201, made.body);
  }
});

after(() => site?.stop());

for (const how of ['fin', 'rst'] as const) {
  for (const what of ['list', 'watch'] as const) {
    test(`a ${what} whose line breaks by ${how.toUpperCase()} in the middle reaches clients of both protocols as cut (FLT-07)`, async () => {
      const query = what === 'list' ? '' : '?watch=true';
      for (const client of [http1Client(site.server), await http2Client(site.server)]) {
        await eventually(
          'it answers',
          async () => (await site.get(`${configMapsOf('m1', 'default')}?limit=1`)).status === 200,
        );
        site.proxy('m1').breakAfter(1_000_000, how);
        const answer = await client.get(`${configMapsOf('m1', 'default')}${query}`, { 'accept-encoding': 'identity' });
        assert.equal(answer.status, 200);
        assert.equal(await answer.ended, 'cut', client.protocol);
        assert.ok(answer.body().length > 100_000 && answer.body().length < 1_000_000, String(answer.body().length));
        site.proxy('m1').breakAfter(undefined);
        client.close();
      }
    });
  }
}

/** One after the other, so that the member can say GOAWAY in between; all see the same change in the end. */
async function openAndChange(at: FaultSite, count: number): Promise<readonly OpenAnswer[]> {
  const clients: StreamClient[] = [];
  for (let i = 0; i < Math.ceil(count / 90); i++) clients.push(await http2Client(at.server));
  const open: OpenAnswer[] = [];
  for (let i = 0; i < count; i++) {
    const watch = await clients[Math.floor(i / 90)]!.get(`${configMapsOf('m1')}?watch=true`);
    assert.equal(watch.status, 200);
    open.push(watch);
  }
  const name = `seen-by-${count}`;
  const made = await at.member('m1').request('POST', '/api/v1/namespaces/team-a/configmaps', { metadata: { name } });
  assert.equal(made.status, 201, made.body);
  await Promise.all(open.map((watch) => watch.until((body) => body.includes(name))));
  for (const client of clients) client.close();
  return open;
}

test('a kube-apiserver with --goaway-chance: watches that are open go on, new ones use new connections, none hangs (FLT-12)', async () => {
  const takenBefore = site.proxy('m1').taken;
  await openAndChange(site, watchCount);
  const opened = site.proxy('m1').taken - takenBefore;
  figure(
    'FLT-12',
    `--goaway-chance=0.02: ${watchCount} watches opened one by one, ${opened} connections, each watch saw its event`,
  );
  assert.ok(opened > Math.ceil(watchCount / 90), `${opened} connections: no GOAWAY came, so nothing was shown`);
});

test('a kube-apiserver that allows one stream a connection: 20 watches get 20 connections and none hangs (FLT-12)', async () => {
  const narrow = await startFaultSite({ proxied: ['m1'], apiserverArgs: ['--http2-max-streams-per-connection=1'] });
  try {
    await openAndChange(narrow, 20);
    figure(
      'FLT-12',
      `--http2-max-streams-per-connection=1: 20 watches, ${narrow.proxy('m1').taken} connections in all`,
    );
    assert.ok(narrow.proxy('m1').taken >= 20);
  } finally {
    await narrow.stop();
  }
});
