// A tenant makes Roles with names that the index cannot store: kube-apiserver does not limit the names of RBAC objects.
// All that comes after them must be in the index all the same, most of all a right that was taken away.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite } from '../../integration/index/index-site.ts';
import type { IndexedList, IndexSite } from '../../integration/index/index-site.ts';
import { configMap, grant, index, namespace, proxy } from './index-world.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const roles = `${rbac}/namespaces/shop/roles`;
const long = ['a', 'b'].map((letter, i) => letter.repeat(i === 0 ? 600 : 5000));

let site: IndexSite;

/** Changes alpha itself, as admin. */
async function change(method: 'POST' | 'DELETE', path: string, body?: JsonObject): Promise<void> {
  const answer = await site.ask(`/clusters/alpha/proxy${path}`, 'admin', { method, ...(body ? { body } : {}) });
  assert.ok(answer.status < 300, answer.text);
}

async function namesOf(path: string, user: string): Promise<readonly string[]> {
  const answer = await site.ask(`${proxy}${path}`, user);
  return answer.status === 200 ? answer.json<IndexedList>().items.map(({ metadata }) => metadata.name) : [];
}

const warningOf = async (user: string): Promise<string> =>
  String((await site.ask(`${proxy}${rbac}/roles`, user)).headers['warning'] ?? '');

before(async () => {
  const tenant = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'tenant' };
  const read = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] }];
  site = await startIndexSite(
    ['admin', 'tenant'],
    {
      alpha: [
        ...[binding('admin', 'cluster-admin', 'admin'), namespace('shop'), namespace('ops')],
        ...[configMap('shop', 'first'), configMap('ops', 'secret-of-ops')],
        ...grant('read-ops', tenant, read, 'ops'),
        ...grant('read-shop', tenant, read, 'shop'),
      ],
    },
    { indexResources: 'configmaps,roles.rbac.authorization.k8s.io' },
  );
  await eventually('the tenant sees ops', async () => (await namesOf('/api/v1/configmaps', 'tenant')).length > 0);
  for (const name of long) {
    const metadata = { name, namespace: 'shop' };
    await change('POST', roles, { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules: [] });
  }
});
after(() => site?.close());

describe('Roles with names that the index cannot store', () => {
  test('what comes after them is in the index, and a right that is taken away is gone (ATT-59)', async () => {
    await change('POST', roles, {
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', rules: [] },
      metadata: { name: 'later', namespace: 'shop' },
    });
    await eventually('later', async () => (await namesOf(`${rbac}/roles`, 'admin')).includes('later'));
    assert.deepEqual(await namesOf(`${rbac}/roles`, 'admin'), ['later']);
    await change('DELETE', `${rbac}/namespaces/ops/rolebindings/read-ops`);
    await eventually(
      'the right is gone',
      async () => !(await namesOf('/api/v1/configmaps', 'tenant')).includes('secret-of-ops'),
    );
  });

  test('lists name them to who may see all of them, and tell others only that some may be missing (ATT-51, ATT-59)', async () => {
    const reported = await eventually('both are counted', async () => {
      const warning = await warningOf('admin');
      return /2 objects are missing/.test(warning) ? warning : undefined;
    });
    assert.match(
      reported,
      /^299 - "cluster alpha: 2 objects are missing in roles\.rbac\.authorization\.k8s\.io, the index cannot store such: shop\/a{55}\.\.\. \(its name has 600 bytes, more than 512\)"$/,
    );
    assert.equal(
      await warningOf('tenant'),
      '299 - "cluster alpha: some roles.rbac.authorization.k8s.io may be missing: the index cannot store them"',
    );
  });

  test('freshness and the metric count them, until they are deleted (ATT-59)', async () => {
    const freshness = await site.ask(`${index}/freshness`, 'admin');
    assert.match(freshness.text, /"leftOut":\{"objects":2,"example":"shop\/a/);
    assert.match(freshness.text, /objects that the index cannot store are left out/);
    const asTenant = await site.ask(`${index}/freshness`, 'tenant');
    assert.match(asTenant.text, /"leftOut":\{\}/);
    assert.doesNotMatch(asTenant.text, /aaa|bbb/);
    const metrics = await (await fetch(`${site.gateway.opsUrl}/metrics`)).text();
    assert.match(metrics, /portcullis_index_left_out_objects\{cluster="alpha"\} 2/);
    for (const name of long) await change('DELETE', `${roles}/${name}`);
    await eventually('nothing is left out', async () => (await warningOf('admin')) === '');
  });
});
