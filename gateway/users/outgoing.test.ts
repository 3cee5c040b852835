import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { makeUser } from '../../model/user.ts';
import { readIdentityConfig } from '../../config/sections/identity-config.ts';
import { flagsAlone } from '../../config/settings/settings.ts';
import { startOutgoingIdentities } from './outgoing.ts';
import type { Reloading } from '../../config/reloading.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

const cluster = { name: 'c1', uid: 'uid-c1' } as ClusterSpec;
const rule = (target: string): string =>
  `{spec: {clientIdentityExchanger: {rules: [{type: StaticMappingIdentityExchanger, source: {user: ann}, target: {user: ${target}}}]}}}`;

/** A reloading that is told by hand when its file changes. */
function handReloading(): { readonly reloading: Reloading; change(text: string): void } {
  let apply: (text: string) => void = () => assert.fail('nothing is followed');
  const reloading: Reloading = {
    add: async (_files, take) => void (apply = take),
    faults: () => [],
    close() {},
  };
  return { reloading, change: (text) => apply(text) };
}

const configOf = (input: Readonly<Record<string, unknown>>) =>
  readIdentityConfig(flagsAlone(input, (flag, message) => assert.fail(`${flag}: ${message}`)));

test('a changed file is in force with the next request, a bad one changes nothing', async () => {
  const { reloading, change } = handReloading();
  const outgoing = await startOutgoingIdentities(configOf({ identityExchange: '/rules.yaml' }), reloading);
  const ann = makeUser({ name: 'ann' });
  change(rule('one'));
  assert.equal(outgoing.identity(ann, cluster).name, 'one');
  change(rule('two'));
  assert.equal(outgoing.identity(ann, cluster).name, 'two');
  assert.throws(() => change('{'), ConfigurationError);
  assert.throws(() => change(''), ConfigurationError);
  assert.equal(outgoing.identity(ann, cluster).name, 'two');
  change('{spec: {clientIdentityExchanger: {}}}');
  assert.equal(outgoing.identity(ann, cluster).name, 'ann');
});

test('the real file is read at start, and a bad one ends it', async (t: TestContext) => {
  const { makeReloading } = await import('../../config/reloading.ts');
  const { makeLog } = await import('../../lib/log.ts');
  const folder = tempDir('outgoing');
  const reloading = makeReloading(makeLog('silent'));
  t.after(() => {
    reloading.close();
  });
  const file = join(folder, 'rules.yaml');
  writeFileSync(file, rule('one'));
  const outgoing = await startOutgoingIdentities(configOf({ identityExchange: file }), reloading);
  assert.equal(outgoing.identity(makeUser({ name: 'ann' }), cluster).name, 'one');
  writeFileSync(file, rule("''"));
  await assert.rejects(
    startOutgoingIdentities(configOf({ identityExchange: file }), reloading),
    (error) => error instanceof ConfigurationError && error.message.startsWith(`${file}:1:`),
  );
  await assert.rejects(startOutgoingIdentities(configOf({ identityExchange: `${file}.none` }), reloading), /ENOENT/);
});

test('a privileged user whose name must not go out is refused at start', async () => {
  const { reloading } = handReloading();
  for (const privilegedUser of ['portcullis:probe', ' root', '']) {
    await assert.rejects(
      startOutgoingIdentities(configOf({ allowPrivilegedIdentity: true, privilegedUser }), reloading),
      (error) => error instanceof ConfigurationError && error.faults[0]?.file === '--privileged-user',
      privilegedUser,
    );
  }
});

test('privileged rules go out as the configured user, with nothing of the caller', async () => {
  const { reloading, change } = handReloading();
  const outgoing = await startOutgoingIdentities(
    configOf({ identityExchange: '/f', allowPrivilegedIdentity: true, privilegedUser: 'hub-admin' }),
    reloading,
  );
  change('{spec: {clientIdentityExchanger: {rules: [{type: PrivilegedIdentityExchanger, source: {group: sudoer}}]}}}');
  const made = outgoing.identity(
    makeUser({ name: 'ann', uid: '1', groups: ['sudoer'], extra: [['k', ['v']]] }),
    cluster,
  );
  assert.deepEqual([made.name, made.uid, made.groups, made.extra], ['hub-admin', '', [], []]);
});

test("a fault of a cluster's annotation is told", async () => {
  const outgoing = await startOutgoingIdentities(configOf({}), handReloading().reloading);
  assert.match(outgoing.clusterFault({ ...cluster, identityExchange: '{' }) ?? '', /^annotation cluster\.core\.oam/);
  assert.equal(outgoing.clusterFault(cluster), undefined);
});
