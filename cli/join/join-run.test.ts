import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { Failure } from '../terminal/failure.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { bootstrapKubeconfig } from './bootstrap-kubeconfig.ts';
import type { HubObject, HubObjects } from './hub-objects.ts';
import { awaitReady, declareJoin, leave } from './join-run.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

const folder = tempDir('join');

const joinPath = '/apis/join.portcullis.io/v1alpha1/clusterjoins/edge';
const request = { name: 'edge', namespace: 'joining', kubeconfig: 'k', spec: { index: true } };
const waiting = { timeoutMs: 1_000, pollMs: 1 };

/** A hub in memory. `seen` holds what each look at the ClusterJoin shows, the last one for ever; undefined: none. */
function fakeHub(seen: readonly (HubObject | undefined)[] = [undefined], refusesJoin = false) {
  const written: string[] = [];
  const bodies: object[] = [];
  const left = [...seen];
  const hub: HubObjects = {
    get: async () => (left.length > 1 ? left.shift() : left[0]),
    async create(collection, object) {
      if (refusesJoin && collection.endsWith('clusterjoins')) throw new Failure('refused', '');
      written.push(`create ${collection}`);
      bodies.push(object);
      return { metadata: { name: 'edge-bootstrap-x' } };
    },
    patch: async (path, change) => void written.push(`patch ${path} ${JSON.stringify(change)}`),
    async remove(path) {
      written.push(`remove ${path}`);
      return true;
    },
  };
  return { hub, written, bodies };
}

function shown(type: string, status: string, reason: string, message = 'm'): HubObject {
  return { metadata: { name: 'edge' }, status: { conditions: [{ type, status, reason, message }] } };
}

function terminalOf(nowMs: () => number = () => 0) {
  const printed: string[] = [];
  const noted: string[] = [];
  const terminal: Terminal = {
    ...{ env: {}, homeDir: folder, nowMs },
    print: (text) => void printed.push(text),
    note: (text) => void noted.push(text),
  };
  return { terminal, printed, noted };
}

test('a join is a Secret and a ClusterJoin that names it', async () => {
  const { hub, written, bodies } = fakeHub();
  await declareJoin(hub, request);
  assert.deepEqual(written, [
    'create /api/v1/namespaces/joining/secrets',
    'create /apis/join.portcullis.io/v1alpha1/clusterjoins',
  ]);
  assert.deepEqual((bodies[1] as { spec: object }).spec, {
    index: true,
    bootstrapKubeconfigSecret: { namespace: 'joining', name: 'edge-bootstrap-x' },
  });
});

test('nothing is written over a ClusterJoin that is there, and no Secret stays without its ClusterJoin', async () => {
  const present = fakeHub([shown('Ready', 'True', 'Ready')]);
  await assert.rejects(declareJoin(present.hub, request), { exitCode: 2 });
  assert.deepEqual(present.written, []);
  const refused = fakeHub([undefined], true);
  await assert.rejects(declareJoin(refused.hub, request), { message: 'refused' });
  assert.equal(refused.written.at(-1), 'remove /api/v1/namespaces/joining/secrets/edge-bootstrap-x');
});

test('each step is told once; a fault that waiting does not mend ends the command, another one does not', async () => {
  const steps = [shown('Reached', 'False', 'Unreachable'), shown('Reached', 'False', 'Unreachable')];
  const { terminal, printed, noted } = terminalOf();
  await awaitReady(fakeHub([...steps, shown('Ready', 'True', 'Ready')]).hub, 'edge', terminal, waiting);
  assert.deepEqual(printed, ['edge has joined\n']);
  assert.deepEqual(noted, ['Reached False: m\n', 'Ready True: m\n']);
  const lasting = fakeHub([shown('RightsSufficient', 'False', 'RightsMissing', 'may not create roles')]);
  await assert.rejects(awaitReady(lasting.hub, 'edge', terminal, waiting), {
    message: 'edge cannot join: may not create roles',
  });
});

test('a command that waits too long says what is missing', async () => {
  let now = 0;
  const { terminal } = terminalOf(() => (now += 600));
  const { hub } = fakeHub([shown('Ready', 'False', 'NotAvailable', 'not probed')]);
  await assert.rejects(awaitReady(hub, 'edge', terminal, waiting), { message: 'not done after 1 s: not probed' });
});

test('a cluster that leaves may be given up, and one that never joined is told', async () => {
  const { terminal, printed, noted } = terminalOf();
  const present = shown('Ready', 'True', 'Ready');
  const { hub, written } = fakeHub([present, shown('Left', 'False', 'Unreachable', 'dead'), undefined]);
  await leave(hub, 'edge', '10s', terminal, waiting);
  assert.deepEqual(written, [`patch ${joinPath} {"spec":{"deregisterPolicy":"ForceAfter:10s"}}`, `remove ${joinPath}`]);
  assert.deepEqual([...noted, ...printed], ['Left False: dead\n', 'edge has left\n']);
  await assert.rejects(leave(fakeHub().hub, 'edge', undefined, terminal, waiting), { exitCode: 2 });
});

test('the bootstrap kubeconfig has the content of files and one context, and nothing else of its source', () => {
  writeFileSync(join(folder, 'token'), 'secret-token\n');
  writeFileSync(join(folder, 'ca.crt'), 'PEM');
  const file = join(folder, 'config');
  const user = (name: string, value: object): object => ({ name, user: value });
  writeFileSync(
    file,
    JSON.stringify({
      'current-context': 'edge',
      contexts: ['edge', 'exec'].map((name) => ({ name, context: { cluster: 'c', user: name } })),
      clusters: [{ name: 'c', cluster: { server: 'https://edge:6443', 'certificate-authority': 'ca.crt' } }],
      users: [user('edge', { tokenFile: 'token' }), user('exec', { exec: { command: 'aws' } })],
    }),
  );
  const made = parse(bootstrapKubeconfig(file, undefined, terminalOf().terminal)) as Record<string, unknown>;
  assert.deepEqual(made['users'], [user('edge', { token: 'secret-token' })]);
  const cluster = { server: 'https://edge:6443', 'certificate-authority-data': Buffer.from('PEM').toString('base64') };
  assert.deepEqual(made['clusters'], [{ name: 'edge', cluster }]);
  assert.throws(() => bootstrapKubeconfig(file, 'exec', terminalOf().terminal), { exitCode: 2 });
});

test('a bootstrap kubeconfig whose user acts as another one is refused', () => {
  const file = join(folder, 'acting');
  writeFileSync(
    file,
    JSON.stringify({
      'current-context': 'edge',
      contexts: [{ name: 'edge', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://edge:6443' } }],
      users: [{ name: 'u', user: { token: 'strong', 'as-user-extra': { scopes: ['few'] } } }],
    }),
  );
  assert.throws(
    () => bootstrapKubeconfig(file, undefined, terminalOf().terminal),
    /the user of context "edge" impersonates \(as, as-uid, as-groups, as-user-extra\)/,
  );
});
