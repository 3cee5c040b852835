// A step of a join that is asked for an object with an impossible name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { readSecret } from '../hub/cluster-secret.ts';
import { inStep } from './join-parts.ts';

test('a Secret whose name could lead elsewhere is not asked for, and its step says why', async () => {
  const hub = new FakeClient();
  const asked: string[] = [];
  const client = {
    request: (call: Parameters<FakeClient['request']>[0]) => (asked.push(call.path), hub.request(call)),
  };
  for (const [namespace, name] of [
    ...['', '.', '..', 'a/b', 'a%2fb', 'a\n'].map((text) => [text, 'one']),
    ...['', '.', '..', '../kube-system/x', 'a%2fb', 'a\n'].map((text) => ['ns', text]),
  ] as const)
    await assert.rejects(
      inStep('Reached', () => readSecret(client, namespace!, name!)),
      { name: 'StepFault', step: 'Reached', reason: 'InvalidName' },
    );
  assert.deepEqual(asked, []);
});
