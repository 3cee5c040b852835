// Following members into the store over real connections: a simulator, the real transport, SQLite.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexRules } from '../../../lib/rights/index-rules.ts';
import { configMap, simulate } from '../../../sim/simulator.fixture.ts';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { readSpelt, withoutRemoved } from '../../index/lossless-json.ts';
import { memberSpec, startSyncSite, type SyncSite } from '../../index/sync-site.ts';
import { grantedClusterRole, userSubject } from '../../site/rbac.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const configMaps = { group: '', resource: 'configmaps' };

/** What `generate member-access --index` prints, for these resources. */
function access(resources: readonly string[]): readonly JsonObject[] {
  return grantedClusterRole('portcullis-index', indexRules(resources), userSubject('portcullis:index'));
}

test('rows are the objects of the member, followed as portcullis:index with the rights that are printed for it, and resumed', async (t) => {
  const resources = ['configmaps', 'secrets', 'deployments.apps'];
  const { sim, ask } = await simulate(t, { seed: access(resources) });
  const directory = tempDir('index');
  const of = (name: string): string => `/api/v1/namespaces/default/configmaps/${name}`;
  const post = async (object: JsonObject): Promise<void> => {
    const answer = await ask(`/api/v1/namespaces/default/${String(object['kind']).toLowerCase()}s`, {
      method: 'POST',
      body: object,
    });
    assert.equal(answer.status, 201, answer.text);
  };
  for (let i = 0; i < 5; i += 1) await post(configMap(`c${i}`, { a: '<b>&\u2028', 10: 'x', 2: 'y' }, { app: 'web' }));
  await post({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { password: 'aHVudGVyMg==' } });

  const start = (): Promise<SyncSite> =>
    startSyncSite({ directory, specs: [memberSpec('m1', sim, sim.adminToken)], resources });
  // The simulator does not write kind before apiVersion in a GET, as an API server does.
  const typed = new Set(['"kind"', '"apiVersion"']);
  const read = (text: string): unknown => {
    const spelt = withoutRemoved(readSpelt(text));
    assert.ok(spelt.kind === 'object');
    assert.deepEqual(spelt.members.filter(([key]) => typed.has(key)).length, 2);
    return spelt.members.filter(([key]) => !typed.has(key));
  };
  const agree = async (site: SyncSite, names: readonly string[]): Promise<void> => {
    await eventually('rows equal the member', async () => {
      const rows = await site.rows(configMaps);
      const wanted = await Promise.all(names.map(async (name) => read((await ask(of(name))).text)));
      assert.deepEqual([...rows.values()].map(read), wanted);
      return true;
    });
  };
  const names = ['c0', 'c1', 'c2', 'c3', 'c4'];
  const first = await start();
  t.after(() => first.close());
  await agree(first, names);
  await eventually('all are watched', () => first.sync.state()[0]?.types.every(({ phase }) => phase === 'watching'));
  const watching = sim.audit.entries.filter(({ verb }) => verb === 'watch');
  assert.ok(
    watching.length > 0 && watching.every(({ impersonatedUser }) => impersonatedUser?.name === 'portcullis:index'),
  );
  const [secret] = [...(await first.rows({ group: '', resource: 'secrets' })).values()];
  assert.match(secret!, /"search.portcullis.io\/data-count":"1"/);
  assert.doesNotMatch(secret!, /aHVudGVyMg/);
  await ask(of('c1'), { method: 'DELETE' });
  await agree(first, names.toSpliced(1, 1));
  await first.close();

  await ask(of('c2'), {
    method: 'PATCH',
    body: { data: { a: 'z' } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  await ask(of('c3'), { method: 'DELETE' });
  sim.audit.clear();
  const second = await start();
  t.after(() => second.close());
  await agree(second, ['c0', 'c2', 'c4']);
  assert.deepEqual(second.counts(), { written: 1, deleted: 1 });
  const listed = sim.audit.entries.filter(({ verb, path }) => verb === 'list' && path.includes('limit=500'));
  assert.deepEqual(
    listed.map(({ path }) => path),
    [],
  );
});
