// SIGTERM to a real process. Unready first; what is short finishes, watches end between two events, what cannot end is
// cut so that it looks cut, and the process leaves with 0.
import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { http2Answer, http2Exchange, http2Headers, openHttp2, openStream } from '../site/http2-client.ts';
import type { Http2Answer } from '../site/http2-client.ts';
import { startMember } from '../site/member.ts';
import type { Member, MemberRequest } from '../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import type { Endpoint, RawClient } from '../site/raw-client.ts';
import { kubeconfigText } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const alice = 'Authorization: Bearer alice-token';
const token = ['authorization', 'Bearer alice-token'];
const api = '/clusters/m1/proxy/api/v1';
const pod = `${api}/namespaces/default/pods/web`;
const folder = tempDir('drain');
const kubeconfig = join(folder, 'kubeconfig.yaml');
let member: Member;
let gateway: GatewayProcess;
let endpoint: Endpoint;
let session: ClientHttp2Session;

before(async () => {
  member = await startMember(await makeTestAuthority());
  const server = `https://127.0.0.1:${member.port}`;
  writeFileSync(kubeconfig, kubeconfigText([{ name: 'm1', server, ca: member.ca, token: 'member-credential' }]));
  gateway = await startGatewayProcess({
    kubeconfigs: [kubeconfig],
    users: [{ token: 'alice-token', name: 'alice' }],
    config: { shutdownDelaySeconds: 2, shutdownGraceSeconds: 3 },
  });
  endpoint = { port: gateway.port, ca: gateway.caPem };
  session = await openHttp2(endpoint);
});
after(async () => {
  session.destroy();
  await gateway.stop('SIGKILL');
  member.close();
});

const json = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
const protobuf = json.replace('application/json', 'application/vnd.kubernetes.protobuf;stream=watch');
const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`;
const framed = (data: string): string => `\0\0\0${String.fromCharCode(data.length)}${data}`;

/** One open request of each kind, over both protocols. */
interface Open {
  readonly client: RawClient;
  readonly over2: Promise<Http2Answer>;
  readonly requests: readonly MemberRequest[];
}

/** Opens the same request over both protocols; the member begins its answers with `beginning`. */
async function open(path: string, beginning: string): Promise<Open> {
  member.answer = ({ socket }) => void socket.write(beginning, 'latin1');
  const first = member.requests.length;
  const client = await openRaw(endpoint);
  client.send(requestBytes(`GET ${path}`, [alice]));
  const stream = openStream(session, http2Headers('GET', path, token));
  const answered = new Promise((resolve) => stream.once('response', resolve));
  const over2 = http2Answer(stream);
  await member.request(first + 1);
  if (beginning !== '') {
    assert.equal((await client.answer({ headOnly: true })).status, 200);
    await answered;
  }
  return { client, over2, requests: member.requests.slice(first, first + 2) };
}

function write(opened: Open, text: string): void {
  for (const { socket } of opened.requests) socket.write(text, 'latin1');
}

/** The chunks of an HTTP/1.1 answer joined, and whether the last one is there. */
function unchunked(rest: string): { readonly body: string; readonly complete: boolean } {
  let body = '';
  let at = 0;
  for (;;) {
    const line = rest.indexOf('\r\n', at);
    if (line < 0) return { body, complete: false };
    const size = Number.parseInt(rest.slice(at, line), 16);
    if (size === 0) return { body, complete: true };
    body += rest.slice(line + 2, line + 2 + size);
    at = line + 4 + size;
  }
}

test('a drain in the order of kube-apiserver', async () => {
  const event = '{"type":"ADDED","object":{}}\n';
  const quiet = await open(`${api}/pods?watch=true&quiet`, json + chunk(event));
  const inEvent = await open(`${api}/pods?watch=true&half`, json + chunk(event + event.slice(0, 10)));
  const binary = await open(
    `${api}/pods?watch=true&binary`,
    protobuf + chunk(framed('first') + framed('second').slice(0, 5)),
  );
  const compressed = await open(
    `${api}/pods?watch=true&gzip`,
    json.replace('\r\n\r\n', '\r\nContent-Encoding: gzip\r\n\r\n') + chunk('\x1f\x8b\n'),
  );
  const list = await open(`${api}/pods`, json + chunk('{"items":['));
  const log = await open(`${pod}/log?follow=true`, json + chunk('a line\n'));
  member.answer = ({ socket }) =>
    void socket.write('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
  const exec = await openRaw(endpoint);
  exec.send(requestBytes(`POST ${pod}/exec`, [alice, ...upgradeLines('SPDY/3.1')]));
  assert.equal((await exec.answer()).status, 101);
  const own = await openRaw(endpoint);
  own.send(requestBytes('GET /apis/gateway.portcullis.io/v1alpha1/clusters?watch=true', [alice]));
  await own.answer({ headOnly: true });
  const short = await open(`${api}/namespaces`, '');
  const idle = await openRaw(endpoint);
  member.answer = (request) => request.reply(200, [], 'still served');

  const exited = gateway.stop('SIGTERM');
  // Unready at once, and still serving.
  await waitFor(async () => (await exchange(endpoint, requestBytes('GET /readyz'))).status === 500);
  const unready = await exchange(endpoint, requestBytes('GET /readyz'));
  assert.match(unready.body, /shutdown failed: reason withheld/);
  assert.equal((await exchange(endpoint, requestBytes('GET /livez'))).status, 200);
  assert.equal((await exchange(endpoint, requestBytes(`GET ${api}/pods`, [alice]))).body, 'still served');
  assert.equal((await http2Exchange(session, http2Headers('GET', `${api}/pods`, token))).status, 200);

  // Behind the delay no connection is taken and idle ones are closed; a quiet watch ends at once.
  await idle.closed;
  await assert.rejects(openRaw(endpoint));
  assert.deepEqual(unchunked((await quiet.client.closed, quiet.client.rest())), { body: event, complete: true });
  const quiet2 = await quiet.over2;
  assert.deepEqual([quiet2.body, quiet2.complete], [event, true]);
  await own.closed;
  assert.equal(unchunked(own.rest()).complete, true);

  // A watch in the middle of an event ends behind it, and nothing of the next one is sent.
  write(inEvent, chunk(event.slice(10) + event.slice(0, 5)));
  await inEvent.client.closed;
  assert.deepEqual(unchunked(inEvent.client.rest()), { body: event + event, complete: true });
  const inEvent2 = await inEvent.over2;
  assert.deepEqual([inEvent2.body, inEvent2.complete], [event + event, true]);
  write(binary, chunk(`${framed('second').slice(5)}${framed('third').slice(0, 6)}`));
  await binary.client.closed;
  assert.deepEqual(unchunked(binary.client.rest()), { body: framed('first') + framed('second'), complete: true });
  const binary2 = await binary.over2;
  assert.deepEqual([binary2.body, binary2.complete], [framed('first') + framed('second'), true]);

  // What is short finishes in the grace.
  for (const request of short.requests) request.reply(200, [], 'finished');
  const finished = await short.client.answer();
  assert.deepEqual([finished.body, finished.complete, finished.values('connection')], ['finished', true, ['close']]);
  const finished2 = await short.over2;
  assert.deepEqual([finished2.body, finished2.complete], ['finished', true]);

  // What cannot end is cut when the grace is over.
  for (const [opened, body] of [
    [list, '{"items":['],
    [log, 'a line\n'],
    [compressed, '\x1f\x8b\n'],
  ] as const) {
    await opened.client.closed;
    assert.deepEqual(unchunked(opened.client.rest()), { body, complete: false });
    const over2 = await opened.over2;
    assert.deepEqual([over2.body, over2.complete], [body, false]);
    assert.notEqual(over2.rstCode, constants.NGHTTP2_NO_ERROR);
  }
  await exec.closed;
  assert.equal(await exited, 0);
  assert.match(gateway.log(), /"msg":"drained"/);
});
