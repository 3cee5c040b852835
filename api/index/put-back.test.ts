import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeDocumentReader } from '../../sync/document/document.ts';
import { asInCluster } from './put-back.ts';

const type = { group: '', version: 'v1', kind: 'Secret', namespaced: true };
const metadata = { name: 's', namespace: 'a', uid: 'u', resourceVersion: '7', labels: { a: 'b' } };
const object = { apiVersion: 'v1', kind: 'Secret', metadata, data: { token: 'x' }, spec: { large: 1, small: 2 } };

/** The copy that the index keeps, without resourceVersion: updates without one overwrite whatever is there. */
function copyOf(options: { redacts: boolean; pruned?: readonly string[] }): Buffer {
  const reader = makeDocumentReader({ cluster: 'm1', type, paths: [], ...options });
  const copy = JSON.parse(
    Buffer.from(reader.read(Buffer.from(JSON.stringify(object))).raw).toString(),
  ) as typeof object;
  return Buffer.from(JSON.stringify({ ...copy, metadata: { ...copy.metadata, resourceVersion: undefined } }));
}

test('a copy from which the index has left out something is never an update, also without its resourceVersion', () => {
  for (const options of [{ redacts: true }, { redacts: false, pruned: ['spec.large'] }])
    assert.throws(() => asInCluster(copyOf(options), 'm1'), {
      code: 'BAD_REQUEST',
      message: /lacks fields .*m1\/proxy/,
    });
  const whole = JSON.parse(asInCluster(copyOf({ redacts: false }), 'm1').toString()) as typeof object;
  assert.deepEqual(whole.data, object.data);
  assert.doesNotMatch(JSON.stringify(whole), /cluster-name/);
});
