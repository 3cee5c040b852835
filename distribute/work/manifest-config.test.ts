import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import { configOf, isOwned } from './manifest-config.ts';

const meta = {
  ordinal: 0,
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  resource: 'deployments',
  namespace: 'a',
  name: 'b1',
};
const work = (spec: object): ApiObject => ({ metadata: { name: 'w', uid: 'u', resourceVersion: '1' }, spec });
const entry = (name: string, more: object): object => ({
  resourceIdentifier: { group: 'apps', resource: 'deployments', namespace: 'a', name },
  ...more,
});

test('of each setting the first entry counts that matches and has it', () => {
  const config = configOf(
    work({
      manifestConfigs: [
        entry('c*', { updateStrategy: { type: 'ReadOnly' } }),
        entry('b*', { feedbackRules: ['first'] }),
        entry('b1', {
          feedbackRules: ['second'],
          updateStrategy: { type: 'ServerSideApply', serverSideApply: { force: true } },
        }),
      ],
    }),
    meta,
  );
  assert.deepEqual(config.feedbackRules, ['first']);
  assert.deepEqual(config.strategy, {
    type: 'ServerSideApply',
    force: true,
    fieldManager: 'work-agent',
    ignoreFields: [],
  });
  assert.equal(configOf(work({}), meta).strategy.type, 'Update');
});

test('a work owns its objects unless it orphans them all, or exactly this one', () => {
  const selective = (rule: object): ApiObject =>
    work({
      deleteOption: { propagationPolicy: 'SelectivelyOrphan', selectivelyOrphans: { orphaningRules: [rule] } },
    });
  const { group, resource, namespace, name } = meta;
  assert.equal(isOwned(work({}), meta), true);
  assert.equal(isOwned(work({ deleteOption: { propagationPolicy: 'Orphan' } }), meta), false);
  assert.equal(isOwned(selective({ group, resource, namespace, name }), meta), false);
  assert.equal(isOwned(selective({ group, resource, namespace, name: '*' }), meta), true);
});
