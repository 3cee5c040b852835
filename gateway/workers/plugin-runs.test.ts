import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecResult } from '../../cache/credentials/exec-run.ts';
import { makePluginRuns } from './plugin-runs.ts';
import type { PluginRuns } from './plugin-runs.ts';

const apiVersion = 'client.authentication.k8s.io/v1';
const run = { command: '/opt/login', args: ['get-token'], env: {}, timeoutMs: 1000, maxStdoutBytes: 1000 };
const [one, other] = [{}, {}];

interface State {
  runs: number;
  nowMs: number;
  status: object;
  code: number;
}

/** A plugin that gives `token-1`, `token-2`, … */
function plugin(): { readonly state: State; readonly runs: PluginRuns; ask(worker: object): Promise<string> } {
  const state: State = { runs: 0, nowMs: 0, status: {}, code: 0 };
  const start = async (): Promise<ExecResult> => {
    state.runs += 1;
    const status = { token: `token-${state.runs}`, ...state.status };
    const stdout = JSON.stringify({ apiVersion, kind: 'ExecCredential', status });
    return { kind: 'exited', code: state.code, stdout, stderr: '' };
  };
  const runs = makePluginRuns(start, () => state.nowMs);
  const ask = async (worker: object): Promise<string> => {
    const result = await runs.run(worker, run);
    assert.equal(result.kind, 'exited');
    return (JSON.parse(result.kind === 'exited' ? result.stdout : '') as { status: { token: string } }).status.token;
  };
  return { state, runs, ask };
}

test('workers that ask at once, or one after the other, are given the credential of one run', async () => {
  const { state, ask } = plugin();
  assert.deepEqual(await Promise.all([ask(one), ask(other)]), ['token-1', 'token-1']);
  state.nowMs = 3_600_000;
  assert.equal(await ask({}), 'token-1');
  assert.equal(state.runs, 1);
});

test('a worker whose credential was refused gets another one, and the others get that one too', async () => {
  const { state, ask } = plugin();
  await Promise.all([ask(one), ask(other)]);
  state.nowMs = 10_000;
  assert.equal(await ask(one), 'token-2');
  state.nowMs = 15_000;
  assert.equal(await ask(other), 'token-2');
  assert.equal(state.runs, 2);
});

test('a credential that has expired is given to nobody', async () => {
  const { state, ask } = plugin();
  state.status = { expirationTimestamp: new Date(60_000).toISOString() };
  assert.equal(await ask(one), 'token-1');
  state.nowMs = 60_000;
  state.status = {};
  assert.equal(await ask(other), 'token-2');
});

test('a run that failed counts for the other workers for a moment only', async () => {
  const { state, runs } = plugin();
  state.code = 1;
  await runs.run(one, run);
  await runs.run(other, run);
  assert.equal(state.runs, 1);
  state.nowMs = 10_000;
  await runs.run({}, run);
  assert.equal(state.runs, 2);
});

test('another environment is another plugin', async () => {
  const { state, runs, ask } = plugin();
  await ask(one);
  await runs.run(other, { ...run, env: { ACCOUNT: 'b' } });
  assert.equal(state.runs, 2);
});
