import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inApplyOrder } from './apply-order.ts';

test('what others need is applied first, and kinds that are not known come last, in the order of the work', () => {
  const kinds = ['Widget', 'Deployment', 'Secret', 'Gadget', 'Namespace', 'ConfigMap', 'Role', 'APIService'];
  const groups = inApplyOrder(kinds.map((kind) => ({ meta: { kind } })));
  assert.deepEqual(
    groups.map((group) => group.map(({ meta }) => meta.kind).join()),
    ['Namespace', 'Role', 'Secret,ConfigMap', 'Deployment', 'APIService', 'Widget', 'Gadget'],
  );
});
