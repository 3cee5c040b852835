import assert from 'node:assert/strict';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { Credential } from '../../model/records.ts';
import { testKeyPair } from '../../test/pretend/certificates.ts';
import { execCredential, type ExecCredentialOptions, type ExecPlan } from './exec.ts';
import type { ExecResult } from './exec-run.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const startMs = Date.parse('2026-01-01T00:00:00Z');

function answer(status: Readonly<Record<string, unknown>>, changes: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ apiVersion, kind: 'ExecCredential', status, ...changes });
}

function planOf(command: string, changes: Partial<ExecPlan> = {}): ExecPlan {
  return { apiVersion, command, args: [], env: [], installHint: '', provideClusterInfo: false, ...changes };
}

/** A plugin without a process: it gives `results` one after the other, and the last one again and again. */
function scripted(results: readonly (ExecResult | string)[], changes: Partial<ExecCredentialOptions> = {}) {
  const state = { runs: 0, nowMs: startMs };
  const source = execCredential({
    plan: planOf('/opt/login'),
    environment: {},
    now: () => state.nowMs,
    run: async () => {
      const result = results[Math.min(state.runs, results.length - 1)] ?? '';
      state.runs += 1;
      return typeof result === 'string' ? { kind: 'exited', code: 0, stdout: result, stderr: '' } : result;
    },
    ...changes,
  });
  return { state, source };
}

/** A real plugin: a shell script in a folder of its own. */
async function script(body: string): Promise<string> {
  const folder = tempDir('exec');
  const file = join(folder, 'login');
  await writeFile(file, `#!/bin/sh\ncd "${folder}"\n${body}\n`);
  await chmod(file, 0o700);
  return file;
}

async function messageOf(credential: Credential | Promise<Credential>): Promise<string> {
  try {
    await credential;
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'MEMBER_CREDENTIAL');
    assert.equal(error.cause, undefined, 'a cause would be logged');
    return error.message;
  }
  return assert.fail('it gave a credential');
}

test('a real plugin is run without a shell and stdin, with its arguments, environment and KUBERNETES_EXEC_INFO', async () => {
  const command = await script(
    `printf '%s|' "$@" "$INHERITED" "$GIVEN" > seen
printf '%s' "$KUBERNETES_EXEC_INFO" > info
if read -r line; then exit 9; fi
echo noise >&2
echo '${answer({ token: 'tok' })}'`,
  );
  const source = execCredential({
    plan: planOf(command, { args: ['a b', '$HOME', ';ls'], env: [{ name: 'GIVEN', value: 'g' }] }),
    clusterInfo: { server: 'https://x' },
    environment: { PATH: process.env['PATH'], INHERITED: 'i', GIVEN: 'overridden' },
  });
  assert.deepEqual(await source.current(), {
    authorization: 'Bearer tok',
    clientCertificate: undefined,
    expiresAtMs: undefined,
  });
  assert.equal(await readFile(join(command, '../seen'), 'utf8'), 'a b|$HOME|;ls|i|g|');
  assert.deepEqual(JSON.parse(await readFile(join(command, '../info'), 'utf8')), {
    kind: 'ExecCredential',
    apiVersion,
    spec: { cluster: { server: 'https://x' }, interactive: false },
  });
});

test('a plugin that hangs is killed at the limit, with everything it started', { timeout: 20_000 }, async () => {
  const command = await script('sleep 600 & echo $! > child; echo $$ > self; wait');
  const source = execCredential({ plan: planOf(command), environment: process.env, timeoutMs: 300 });
  assert.equal(await messageOf(source.current()), 'credential plugin login: did not end within 0.3 s');
  for (const name of ['self', 'child']) {
    const pid = Number(await readFile(join(command, '..', name), 'utf8'));
    await untilGone(pid);
  }
});

/** Killed processes stay visible until init has collected them. */
async function untilGone(pid: number): Promise<void> {
  for (;;) {
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    if (state === '' || /\) [ZX] /.test(state)) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a plugin that leaves a child with its pipes open does not keep us waiting for the child', async () => {
  const command = await script(`sleep 600 & echo '${answer({ token: 't' })}'`);
  const source = execCredential({ plan: planOf(command), environment: process.env });
  assert.equal((await source.current()).authorization, 'Bearer t');
});

test('a plugin that floods stdout is ended', async () => {
  const command = await script('yes | head -c 3000000; sleep 600');
  const source = execCredential({ plan: planOf(command), environment: process.env });
  assert.equal(await messageOf(source.current()), 'credential plugin login: printed more than 1 MiB');
});

test('a running plugin ends with the gateway', async () => {
  const stopping = new AbortController();
  const command = await script('sleep 600');
  const source = execCredential({ plan: planOf(command), environment: process.env, signal: stopping.signal });
  const message = messageOf(source.current());
  stopping.abort();
  assert.match(await message, /gateway stops/);
  assert.match(
    await messageOf(execCredential({ plan: planOf(command), environment: {}, signal: stopping.signal }).current()),
    /gateway stops/,
  );
});

test('the error names plugin, exit code and last line, without what looks secret', async () => {
  const command = await script('echo first >&2; echo "login failed for $API_TOKEN with token: abc" >&2; exit 3');
  const plan = planOf(command, {
    env: [{ name: 'API_TOKEN', value: 'hunter22hunter22' }],
    installHint: 'never shown here',
  });
  const source = execCredential({ plan, environment: process.env });
  assert.equal(
    await messageOf(source.current()),
    'credential plugin login: exited with code 3: login failed for [redacted] with token: [redacted]',
  );
});

test('a plugin that is not there says so with the hint of the kubeconfig', async () => {
  const plan = planOf('no-such-plugin-anywhere', { installHint: 'Install it\n  from example.com' });
  const source = execCredential({ plan, environment: { PATH: '/nowhere' } });
  assert.equal(
    await messageOf(source.current()),
    'credential plugin no-such-plugin-anywhere: was not found; install it or correct the PATH: Install it from example.com',
  );
});

test('arguments the system refuses are an error, not a crash', async () => {
  const source = execCredential({ plan: planOf('/bin/true', { args: ['x'.repeat(300_000)] }), environment: {} });
  assert.match(await messageOf(source.current()), /cannot be run \(E2BIG\)/);
});

test('what a plugin prints is checked, and no value of it reaches the error', async () => {
  const { key } = await testKeyPair('x');
  const { cert } = await testKeyPair('y');
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /printed nothing/],
    ['SECRETsecret', /did not print JSON/],
    ['{"token": "SECRETsecret"', /did not print JSON/],
    ['"SECRETsecret"', /not an object/],
    [JSON.stringify({ apiVersion, kind: 'ExecCredential' }), /\(status\)/],
    [answer({ token: 'SECRETsecret' }, { kind: 'Secret' }), /\(kind\)/],
    [answer({ token: ['SECRETsecret'] }), /\(status.token\)/],
    [answer({ token: 'SECRETsecret' }, { apiVersion: 'client.authentication.k8s.io/v1beta1' }), /another version/],
    [answer({}), /neither a token nor/],
    [answer({ clientCertificateData: cert }), /only one of/],
    [answer({ clientCertificateData: cert, clientKeyData: key }), /belongs to another certificate/],
    [answer({ token: 'SECRETsecret x' }), /white space/],
    [answer({ token: 'SECRETsecret', expirationTimestamp: 'tomorrow' }), /RFC 3339/],
    [answer({ token: 'SECRETsecret', expirationTimestamp: '2025-12-31T23:59:59Z' }), /expired already/],
  ];
  for (const [stdout, reason] of cases) {
    const message = await messageOf(scripted([stdout]).source.current());
    assert.match(message, reason);
    assert.doesNotMatch(message, /SECRETsecret|BEGIN/);
  }
});

test('a certificate of the plugin is given, one of the kubeconfig wins over it', async () => {
  const [one, two] = [await testKeyPair('one'), await testKeyPair('two')];
  const stdout = answer({ clientCertificateData: one.cert, clientKeyData: one.key });
  const { source } = scripted([stdout], { now: Date.now });
  const given = await source.current();
  assert.deepEqual(given.clientCertificate, one);
  assert.equal(given.authorization, undefined);
  assert.ok((given.expiresAtMs ?? 0) > Date.now(), 'without a timestamp the certificate says when it ends');
  assert.deepEqual(
    (await scripted([stdout], { now: Date.now, clientCertificate: two }).source.current()).clientCertificate,
    two,
  );
});

test('however many ask at once, the plugin runs once, and then the answer is at hand without a promise', async () => {
  const { state, source } = scripted([answer({ token: 't' })]);
  const all = await Promise.all(Array.from({ length: 50 }, () => source.current()));
  assert.equal(state.runs, 1);
  assert.ok(all.every((credential) => credential === all[0]));
  assert.equal(source.current(), all[0]);
});

test('it is kept to shortly before its expiry, renewed in the background, and never used after', async () => {
  const at = (minutes: number) => new Date(startMs + minutes * 60_000).toISOString();
  const first = answer({ token: 'one', expirationTimestamp: at(15) });
  const { state, source } = scripted([
    first,
    answer({ token: 'two', expirationTimestamp: at(60) }),
    answer({ token: 'three' }),
  ]);
  const tokenNow = async (): Promise<string | undefined> => (await source.current()).authorization;
  assert.equal(await tokenNow(), 'Bearer one');
  state.nowMs = startMs + 13.9 * 60_000;
  assert.equal(await tokenNow(), 'Bearer one');
  assert.equal(state.runs, 1);
  state.nowMs = startMs + 14.1 * 60_000;
  assert.ok(!(source.current() instanceof Promise), 'nobody waits while the old one is good');
  assert.equal(state.runs, 2);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await tokenNow(), 'Bearer two');
  state.nowMs = startMs + 61 * 60_000;
  assert.ok(source.current() instanceof Promise);
  assert.equal(await tokenNow(), 'Bearer three');
  assert.equal(state.runs, 3);
});

test('a failing plugin is not run again at once, then at growing intervals, and a success ends that', async () => {
  const failed: ExecResult = { kind: 'exited', code: 1, stdout: '', stderr: '' };
  const short = answer({ token: 't', expirationTimestamp: new Date(startMs + 60_000).toISOString() });
  const { state, source } = scripted([failed, failed, failed, short, failed, answer({ token: 'u' })]);
  await messageOf(source.current());
  await messageOf(source.current());
  assert.equal(state.runs, 1);
  state.nowMs += 1_000;
  await messageOf(source.current());
  assert.equal(state.runs, 2);
  state.nowMs += 1_999;
  await messageOf(source.current());
  assert.equal(state.runs, 2);
  state.nowMs += 1;
  await messageOf(source.current());
  assert.equal(state.runs, 3);
  state.nowMs += 4_000;
  assert.equal((await source.current()).authorization, 'Bearer t');
  state.nowMs = startMs + 60_000;
  await messageOf(source.current());
  state.nowMs += 1_000;
  assert.equal((await source.current()).authorization, 'Bearer u');
  assert.equal(state.runs, 6);
});

test('a failed renewal does not take away what still holds', async () => {
  const first = answer({ token: 'one', expirationTimestamp: new Date(startMs + 600_000).toISOString() });
  const { state, source } = scripted([first, { kind: 'killed', signal: 'SIGSEGV', stderr: '' }]);
  await source.current();
  state.nowMs = startMs + 599_500;
  assert.equal((await source.current()).authorization, 'Bearer one');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await source.current()).authorization, 'Bearer one');
  state.nowMs = startMs + 600_000;
  assert.match(await messageOf(source.current()), /killed by SIGSEGV/);
  assert.equal(state.runs, 2);
});

test('a 401 makes it ask anew, but a member that refuses everything does not start the plugin all the time', async () => {
  const { state, source } = scripted([answer({ token: 'one' }), answer({ token: 'two' })]);
  await source.current();
  source.invalidate();
  assert.equal((await source.current()).authorization, 'Bearer one', 'just obtained: the 401 was for its predecessor');
  state.nowMs += 10_000;
  source.invalidate();
  assert.equal((await source.current()).authorization, 'Bearer two');
  source.invalidate();
  await source.current();
  assert.equal(state.runs, 2);
});

test('what a member refused serves on while it lasts when there is no other, and one run for another is waited for (ATT-44)', async () => {
  const failed: ExecResult = { kind: 'exited', code: 1, stdout: '', stderr: '' };
  const first = answer({ token: 'one', expirationTimestamp: new Date(startMs + 600_000).toISOString() });
  const { state, source } = scripted([first, failed, failed, failed, answer({ token: 'two' })]);
  const tokenNow = async (): Promise<string | undefined> => (await source.current()).authorization;
  assert.equal(await tokenNow(), 'Bearer one');
  state.nowMs += 10_000;
  source.invalidate();
  assert.deepEqual(await Promise.all([tokenNow(), tokenNow(), tokenNow()]), ['Bearer one', 'Bearer one', 'Bearer one']);
  assert.equal(state.runs, 2);
  source.invalidate();
  assert.ok(!(source.current() instanceof Promise), 'nobody waits once the plugin has failed');
  assert.equal(state.runs, 2);
  state.nowMs += 1_000;
  assert.ok(!(source.current() instanceof Promise));
  assert.equal(state.runs, 3, 'it is tried again all the same');
  await new Promise((resolve) => setImmediate(resolve));
  state.nowMs += 2_000;
  await tokenNow();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(state.runs, 4);
  state.nowMs += 4_000;
  await tokenNow();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await tokenNow(), 'Bearer two');
  assert.equal(state.runs, 5);
});

test('what a member refused is never used after its expiry, also when the run for another fails behind it (ATT-44)', async () => {
  const { promise, resolve } = Promise.withResolvers<ExecResult>();
  const first = answer({ token: 'one', expirationTimestamp: new Date(startMs + 600_000).toISOString() });
  let runs = 0;
  const state = { nowMs: startMs };
  const source = execCredential({
    plan: planOf('/opt/login'),
    environment: {},
    now: () => state.nowMs,
    run: () => {
      runs += 1;
      return runs === 1 ? Promise.resolve({ kind: 'exited', code: 0, stdout: first, stderr: '' }) : promise;
    },
  });
  await source.current();
  state.nowMs += 10_000;
  source.invalidate();
  const waiting = source.current();
  state.nowMs = startMs + 600_000;
  resolve({ kind: 'exited', code: 1, stdout: '', stderr: '' });
  assert.match(await messageOf(waiting), /exited with code 1/);
});
