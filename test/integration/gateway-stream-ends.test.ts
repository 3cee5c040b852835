// Why a stream ended, as its client sees it and as the log tells it: the credential expired, the cluster was removed. A
// watch gets an ERROR event and a proper end, an exec session a Status, what has no words is cut.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { authority, makeCertificate } from '../../auth/x509/certificates.fixture.ts';
import { MessageBoundary } from '../../routing/forward/websocket-messages.ts';
import { openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import type { RawClient } from '../site/raw-client.ts';
import { kubeconfigText, startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Site, SiteOptions } from '../site/site.ts';
import { clientCertificate } from '../site/client-certificate.ts';

const api = '/clusters/m1/proxy/api/v1';
const alice = 'Authorization: Bearer alice-token';
const json = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`;
const event = '{"type":"BOOKMARK","object":{}}\n';

async function siteOf(t: TestContext, options: Partial<SiteOptions> = {}): Promise<Site> {
  const site = await startSite({ users: [{ token: 'alice-token', name: 'alice' }], members: 2, ...options });
  t.after(() => site.close());
  return site;
}

/** Opens a stream; the member begins with `beginning`. */
async function open(site: Site, line: string, headers: readonly string[], beginning: string): Promise<RawClient> {
  const [member] = site.members;
  member!.answer = ({ socket }) => void socket.write(beginning, 'latin1');
  const client = await openRaw(site);
  client.send(requestBytes(line, headers));
  assert.ok((await client.answer({ headOnly: true })).status < 300);
  return client;
}

const openWatch = (site: Site, headers = [alice]): Promise<RawClient> =>
  open(site, `GET ${api}/pods?watch=1`, headers, json + chunk(event));

/** What came behind the head of a watch once it is over: its events, and whether the answer is complete. */
async function watched(
  client: RawClient,
): Promise<{ readonly events: readonly unknown[]; readonly complete: boolean }> {
  await client.restMatches(/\r\n0\r\n\r\n$/).catch(() => undefined);
  const rest = client.rest();
  const lines = rest.split('\r\n').filter((line) => line.startsWith('{'));
  return { events: lines.map((line) => JSON.parse(line) as unknown), complete: rest.endsWith('0\r\n\r\n') };
}

const switched = [
  'HTTP/1.1 101 Switching Protocols',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
  'Sec-WebSocket-Protocol: v5.channel.k8s.io',
  '',
  '',
].join('\r\n');
const openExec = (site: Site, protocol = switched): Promise<RawClient> =>
  open(site, `GET ${api}/namespaces/default/pods/web/exec?command=sh`, [alice, ...upgradeLines('websocket')], protocol);

/** The Status at the end of a session, which must be a whole message on channel 3, followed by a close. */
function lastStatus(text: string): { readonly code: number; readonly message: string } {
  const bytes = Buffer.from(text, 'latin1');
  assert.equal(new MessageBoundary().feed(bytes), bytes.length, 'nothing is cut');
  const found = /\x03(\{.*\})\x88\x02\x03\xe8$/s.exec(text);
  assert.ok(found, JSON.stringify(text));
  return JSON.parse(found[1]!) as { code: number; message: string };
}

function removeFirst(site: Site): void {
  site.replace(site.files.kubeconfig, kubeconfigText(site.contexts.slice(1)));
}

test('when a cluster is removed, a watch ends with an ERROR event that says so, an exec session with a Status, a log is cut', async (t) => {
  const site = await siteOf(t);
  const watch = await openWatch(site);
  const exec = await openExec(site, `${switched}\x82\x03\x01hi`);
  const log = await open(site, `GET ${api}/namespaces/default/pods/web/log?follow=1`, [alice], json + chunk('line\n'));
  await exec.restMatches(/hi$/);
  removeFirst(site);
  const { events, complete } = await watched(watch);
  assert.ok(complete);
  const last = events.at(-1) as { type: string; object: { kind: string; code: number; message: string } };
  assert.deepEqual([last.type, last.object.kind, last.object.code], ['ERROR', 'Status', 404]);
  assert.equal(last.object.message, 'cluster "m1" was removed');
  await exec.closed;
  assert.equal(lastStatus(exec.rest()).message, 'cluster "m1" was removed');
  await log.closed;
  assert.ok(!log.rest().endsWith('0\r\n\r\n'), 'a log that is cut looks cut');
  await waitFor(() => site.log().match(/"cluster":"m1".*was removed/g)?.length === 3);
});

test('an exec session that is in the middle of a message ends behind it', async (t) => {
  const site = await siteOf(t);
  const exec = await openExec(site, `${switched}\x82\x05\x01ab`);
  await exec.restMatches(/ab$/);
  removeFirst(site);
  // What the member had begun never comes: its connection goes with the cluster. The client must not be given half a
  // message and more behind it.
  await exec.closed;
  assert.doesNotMatch(exec.rest(), /was removed/);
});

test('a watch of a user whose client certificate runs out ends in that second with an ERROR event 401', async (t) => {
  const root = await makeCertificate({
    subject: [{ CN: ['users'] }],
    extensions: authority(),
    validFromMs: Date.now() - 60_000,
    validToMs: Date.now() + 3_600_000,
  });
  const site = await siteOf(t, { clientCa: root.pem });
  const shown = await clientCertificate('carol', root, {
    validFromMs: Date.now() - 60_000,
    validToMs: Date.now() + 4_000,
  });
  const member = site.members[0]!;
  member.answer = ({ socket }) => void socket.write(json + chunk(event), 'latin1');
  const client = await openRaw(site, shown);
  client.send(requestBytes(`GET ${api}/pods?watch=1`));
  assert.equal((await client.answer({ headOnly: true })).status, 200);
  const { events, complete } = await watched(client);
  assert.ok(complete);
  assert.match(JSON.stringify(events.at(-1)), /"type":"ERROR".*has expired.*"reason":"Unauthorized".*"code":401/);
});
