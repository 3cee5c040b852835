// The conformance tool of others, h2spec, against the listener. Many of its cases watch what happens to a request that
// is under way, so answers come a little after the whole request.
// Landing tier: HTTP/2 as its specification has it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startListener } from '../../../gateway/listener/tls-server.ts';
import type { Listener } from '../../../gateway/listener/tls-server.ts';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import { ensureBinaries } from '../../controlplane/build.ts';

const run = promisify(execFile);
const answerAfterMs = 5;
let listener: Listener;

before(async () => {
  const serving = await (await makeTestAuthority()).issue(['ip:127.0.0.1']);
  const material = { ...serving, clientCa: undefined };
  listener = await startListener({ host: '127.0.0.1', port: 0 }, material, ({ inbound, headFault }) => {
    const answer = (): void => {
      const body = Buffer.alloc(100, 'x');
      inbound.respond(headFault === undefined ? 200 : 400, ['Content-Length', String(body.length)], false);
      inbound.write(body);
      inbound.end();
    };
    const answerSoon = (): void => void setTimeout(answer, answerAfterMs);
    if (inbound.body === 'none' || headFault !== undefined) answerSoon();
    else inbound.readBody({ onData: () => undefined, onEnd: answerSoon });
  });
});
after(() => listener.close());

test('every case of h2spec passes', async (t) => {
  const { h2spec } = await ensureBinaries(['h2spec']);
  // --timeout is how long h2spec waits for an answer to one frame, in seconds.
  const args = ['--tls', '--insecure', '--host', '127.0.0.1', '--port', String(listener.port), '--timeout', '5'];
  const result = await run(h2spec!, args, { timeout: 300_000 }).catch((error: { stdout: string }) => error);
  const totals = /(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed/.exec(result.stdout);
  assert.ok(totals !== null, result.stdout);
  t.diagnostic(totals[0]);
  assert.equal(totals[4], '0', result.stdout.slice(result.stdout.indexOf('Failures:')));
  assert.ok(Number(totals[2]) >= 140, totals[0]);
});
