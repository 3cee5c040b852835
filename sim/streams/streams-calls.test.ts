// What is refused before a byte of a stream flows; the streams themselves are tested in streams/.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pod, simulate } from '../simulator.fixture.ts';

const upgrade = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' };
const base = '/api/v1/namespaces/default/pods';
const running = { name: 'c', restartCount: 0, state: { running: { startedAt: '2026-01-01T00:00:00Z' } } };

test('logs: which container, and not before it runs', async (t) => {
  const { sim, ask } = await simulate(t);
  const two = {
    nodeName: 'n',
    containers: [
      { name: 'c', image: 'x' },
      { name: 'd', image: 'x' },
    ],
  };
  const waiting = { name: 'd', state: { waiting: { reason: 'ContainerCreating' } } };
  sim.store.apply({ ...pod('two', two), status: { phase: 'Running', containerStatuses: [running, waiting] } });
  sim.store.apply(pod('nowhere'));
  const message = async (path: string): Promise<unknown[]> => {
    const answer = await ask(path);
    return [answer.status, answer.status === 200 ? answer.text : answer.json.message];
  };
  assert.deepEqual(await message(`${base}/two/log`), [
    400,
    'a container name must be specified for pod two, choose one of: [c d]',
  ]);
  assert.deepEqual(await message(`${base}/two/log?container=z`), [400, 'container z is not valid for pod two']);
  assert.deepEqual(await message(`${base}/two/log?container=d`), [
    400,
    'container "d" in pod "two" is waiting to start: ContainerCreating',
  ]);
  assert.deepEqual(await message(`${base}/two/log?container=c&tailLines=x`), [
    400,
    'invalid tailLines: "x" is not a number',
  ]);
  assert.deepEqual(await message(`${base}/nowhere/log`), [200, '']);
  assert.equal((await ask(`${base}/none/log`)).status, 404);
  const log = await ask(`${base}/two/log?container=c&tailLines=1`);
  assert.deepEqual([log.status, log.headers['content-type']], [200, 'text/plain']);
});

test('upgrades: only to a running container of a pod on a node', async (t) => {
  const { sim, ask } = await simulate(t);
  sim.store.apply({ ...pod('done', { nodeName: 'n' }), status: { phase: 'Succeeded' } });
  sim.store.apply(pod('nowhere'));
  const refusal = async (path: string, method = 'POST'): Promise<unknown[]> => {
    const { status, json } = await ask(path, { method, headers: upgrade });
    return [status, json.message];
  };
  assert.deepEqual(await refusal(`${base}/done/exec?command=ls&stdout=1`), [
    400,
    'cannot exec into a container in a completed pod; current phase is Succeeded',
  ]);
  assert.deepEqual(await refusal(`${base}/done/exec?command=ls&stdout=1&container=z`), [
    400,
    'container z is not valid for pod done',
  ]);
  assert.deepEqual(await refusal(`${base}/nowhere/portforward`), [400, 'pod nowhere does not have a host assigned']);
  assert.deepEqual(await refusal(`${base}/none/attach?stdout=1`), [404, 'pods "none" not found']);
  assert.deepEqual(
    (await ask(`${base}/done/exec?command=ls`, { method: 'POST' })).json.message,
    'Upgrade request required',
  );
});

test('an upgrade anywhere else is ignored, as net/http ignores it', async (t) => {
  const { ask } = await simulate(t);
  assert.equal((await ask('/version', { headers: upgrade })).status, 200);
});
