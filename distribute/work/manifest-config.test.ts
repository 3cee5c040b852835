import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  makeConfigFinder,
  makeOwnership,
  readWorkConfig,
  type ConfigEntry,
  type WorkConfig,
} from './manifest-config.ts';

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
  const config = makeConfigFinder(
    workOf([
      entry('c*', { updateStrategy: { type: 'ReadOnly' } }),
      entry('b*', { feedbackRules: [{ type: 'first' }] }),
      entry('b1', {
        feedbackRules: [{ type: 'second' }],
        updateStrategy: { type: 'ServerSideApply', serverSideApply: { force: true } },
      }),
    ]),
  )(meta);
  assert.deepEqual(config.feedbackRules, [{ type: 'first', paths: [] }]);
  assert.deepEqual(config.strategy, {
    type: 'ServerSideApply',
    force: true,
    fieldManager: 'work-agent',
    ignoreFields: [],
  });
  assert.equal(makeConfigFinder(workOf([]))(meta).strategy.type, 'Update');
});

test('entries count in their order, whether they name the object, are patterns, or are of the same identifier', () => {
  const rulesOf = (...names: readonly string[]): string | undefined =>
    makeConfigFinder(workOf(names.map((name, index) => entry(name, { feedbackRules: [{ type: `${index}` }] }))))(meta)
      .feedbackRules[0]?.type;
  assert.equal(rulesOf('b1', '*'), '0');
  assert.equal(rulesOf('*', 'b1'), '0');
  assert.equal(rulesOf('no', 'b*1', '*', 'b1'), '1');
  assert.equal(rulesOf('no', 'c*', 'b1', 'b1', '*'), '2');
  assert.equal(rulesOf('no', 'b2', 'c*'), undefined);
  const later = workOf([entry('b1', {}), entry('b1', { updateStrategy: { type: 'ReadOnly' } })]);
  assert.equal(makeConfigFinder(later)(meta).strategy.type, 'ReadOnly');
});

test('thousands of entries are not looked at again for each of thousands of manifests (ATT-56)', () => {
  const { configs, ...rest } = workOf(
    Array.from({ length: 3_000 }, (_, index) => entry(`b${index}`, { feedbackRules: [{ type: `${index}` }] })),
  );
  let looks = 0;
  const counted = configs.map((each): ConfigEntry => ({
    ...each,
    get identifier() {
      looks += 1;
      return each.identifier;
    },
  }));
  const configOf = makeConfigFinder({ ...rest, configs: counted });
  for (let index = 0; index < 3_000; index += 1)
    assert.equal(configOf({ ...meta, name: `b${index}` }).feedbackRules[0]!.type, `${index}`);
  assert.ok(looks < 30_000, `${looks} looks`);
});

test('a work owns its objects unless it orphans them all, or exactly this one', () => {
  const { group, resource, namespace, name } = meta;
  const isOwnedBy = (option: unknown): boolean =>
    makeOwnership(readWorkConfig({ deleteOption: option }).deleteOption)(meta);
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
