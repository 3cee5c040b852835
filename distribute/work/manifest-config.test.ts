import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf, isOwned, readWorkConfig, type WorkConfig } from './manifest-config.ts';

const meta = {
  ordinal: 0,
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  resource: 'deployments',
  namespace: 'a',
  name: 'b1',
};
const entry = (name: string, more: object): object => ({
  resourceIdentifier: { group: 'apps', resource: 'deployments', namespace: 'a', name },
  ...more,
});
const workOf = (manifestConfigs: readonly unknown[]): WorkConfig => readWorkConfig({ manifestConfigs });

test('of each setting the first entry counts that matches and has it', () => {
  const config = configOf(
    workOf([
      entry('c*', { updateStrategy: { type: 'ReadOnly' } }),
      entry('b*', { feedbackRules: [{ type: 'first' }] }),
      entry('b1', {
        feedbackRules: [{ type: 'second' }],
        updateStrategy: { type: 'ServerSideApply', serverSideApply: { force: true } },
      }),
    ]),
    meta,
  );
  assert.deepEqual(config.feedbackRules, [{ type: 'first', paths: [] }]);
  assert.deepEqual(config.strategy, {
    type: 'ServerSideApply',
    force: true,
    fieldManager: 'work-agent',
    ignoreFields: [],
  });
  assert.equal(configOf(workOf([]), meta).strategy.type, 'Update');
});

test('a work owns its objects unless it orphans them all, or exactly this one', () => {
  const { group, resource, namespace, name } = meta;
  const isOwnedBy = (option: unknown): boolean => isOwned(readWorkConfig({ deleteOption: option }).deleteOption, meta);
  const selective = (...orphaningRules: readonly unknown[]): object => ({
    propagationPolicy: 'SelectivelyOrphan',
    selectivelyOrphans: { orphaningRules },
  });
  for (const option of [undefined, null, {}, 'Orphan', { propagationPolicy: 'Foreground' }])
    assert.equal(isOwnedBy(option), true, JSON.stringify(option));
  assert.equal(isOwnedBy({ propagationPolicy: 'Orphan' }), false);
  assert.equal(isOwnedBy(selective({ group, resource, namespace, name })), false);
  assert.equal(isOwnedBy(selective({ group, resource, namespace, name: '*' })), true);
  assert.equal(isOwnedBy(selective(null, {}, 'x')), true);
});
