// The cases of cluster-gateway's own exec tests (pkg/util/exec/exec_test.go). Two of them have no counterpart, an empty
// cluster name and another type in the cache: here each cluster has a source of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { readSecretExec } from '../sources/objects/secret-exec.ts';
import { testKeyPair } from '../../test/pretend/certificates.ts';
import { execCredential } from './exec.ts';
import type { ExecResult } from './exec-run.ts';

const v1 = 'client.authentication.k8s.io/v1';
const startMs = Date.parse('2026-01-01T00:00:00Z');

function output(change: object): string {
  return JSON.stringify({ apiVersion: v1, kind: 'ExecCredential', status: { token: 'token-1' }, ...change });
}

/** A source whose plugin prints this; `runs` counts. */
function plugin(result: ExecResult | string, command = '/opt/login') {
  const state = { runs: 0, nowMs: startMs };
  const plan = { apiVersion: v1, command, args: [], env: [], installHint: '', provideClusterInfo: false } as const;
  const source = execCredential({
    plan,
    environment: {},
    now: () => state.nowMs,
    run: async () => {
      state.runs += 1;
      return typeof result === 'string' ? { kind: 'exited', code: 0, stdout: result, stderr: '' } : result;
    },
  });
  return { state, source };
}

async function failure(result: ExecResult | string): Promise<string> {
  try {
    await plugin(result).source.current();
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.code === 'MEMBER_CREDENTIAL');
    return error.message;
  }
  return assert.fail('it gave a credential');
}

function refusedSecret(exec: string): string {
  try {
    readSecretExec('data.exec', exec, { allowExec: ['login'], allowExecEnv: [] });
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.code === 'CLUSTER_UNUSABLE');
    return error.message;
  }
  return assert.fail('it was accepted');
}

test('without a configuration or a command nothing is run (CG-57, CG-58)', () => {
  assert.match(refusedSecret(''), /data\.exec is missing/);
  assert.match(refusedSecret(JSON.stringify({ apiVersion: v1 })), /command that is not allowed/);
});

test('a command that is not there is named (CG-59)', async () => {
  const { source } = (() => {
    const plan = { apiVersion: v1, args: [], env: [], installHint: '', provideClusterInfo: false } as const;
    return { source: execCredential({ plan: { ...plan, command: '/nowhere/login' }, environment: {} }) };
  })();
  await assert.rejects(
    async () => source.current(),
    (error) =>
      error instanceof GatewayError && /credential plugin login: .*(?:not found|ENOENT|no such)/i.test(error.message),
  );
});

test('a plugin that exits with 1 gives its exit code (CG-60)', async () => {
  assert.match(await failure({ kind: 'exited', code: 1, stdout: output({}), stderr: 'no login' }), /1: no login/);
});

test('an empty or foreign apiVersion in the configuration is refused (CG-61, CG-62)', () => {
  for (const apiVersion of ['', 'v1', 'example.test/v1'])
    assert.match(refusedSecret(JSON.stringify({ apiVersion, command: 'login' })), /apiVersion must be client\.auth/);
});

test('output that is no object is refused (CG-63)', async () => {
  assert.match(await failure('hello'), /did not print JSON/);
  assert.match(await failure('"hello"'), /not an object/);
});

test('a version that does not parse, or is another one, is refused (CG-64, CG-65)', async () => {
  for (const apiVersion of ['a/b/c', 'client.authentication.k8s.io/v1beta1'])
    assert.match(await failure(output({ apiVersion })), /another version than the configured/);
});

test('no status, or an empty one, is no credential (CG-66, CG-67)', async () => {
  assert.match(await failure(output({ status: undefined })), /\(status\)/);
  assert.match(await failure(output({ status: {} })), /neither a token nor a certificate/);
});

test('a certificate without its key is refused (CG-68)', async () => {
  const { cert } = await testKeyPair('x');
  assert.match(await failure(output({ status: { clientCertificateData: cert } })), /only one of certificate and key/);
});

test('the first request runs the plugin, the next ones do not (CG-70, CG-71)', async () => {
  const { state, source } = plugin(output({}));
  assert.equal((await source.current()).authorization, 'Bearer token-1');
  assert.equal((await source.current()).authorization, 'Bearer token-1');
  assert.equal(state.runs, 1);
});

test('an expired credential is asked for anew (CG-72)', async () => {
  const expirationTimestamp = new Date(startMs + 3_600_000).toISOString();
  const { state, source } = plugin(output({ status: { token: 'token-1', expirationTimestamp } }));
  await source.current();
  state.nowMs = startMs + 3_600_001;
  await assert.rejects(async () => source.current(), /expired already/);
  assert.equal(state.runs, 2);
});
