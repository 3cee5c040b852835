import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call } from '../../connection/http.ts';
import type { ApplyJob, ClusterKnowledge, ClusterRun } from './apply-job.ts';
import { applySet } from './apply-set.ts';
import { pruneSet } from './cluster-set.ts';

const set = applySet('web', 'shop');
const groups = ['authorization.openshift.io', 'rbac.authorization.k8s.io'];

/**
 * Prunes in a cluster that serves the same RoleBindings in two API groups; the manifests have only `kept` of one group.
 * @param listed the groups that the parent of the set names
 * @returns why nothing was pruned, and the UIDs of the deleted objects
 */
async function pruned(listed: readonly string[], dryRun: boolean): Promise<readonly [string | undefined, unknown[]]> {
  const deleted: unknown[] = [];
  const answer = (content: object) => ({ status: 200, headers: [], body: Buffer.from(JSON.stringify(content)) });
  const ask = async ({ method, path, body }: Call): Promise<object> => {
    if (method === 'DELETE') deleted.push((body as { preconditions: { uid: string } }).preconditions.uid);
    const annotations = {
      'applyset.kubernetes.io/tooling': 'kubectl/v1',
      'applyset.kubernetes.io/contains-group-kinds': listed.map((group) => `RoleBinding.${group}`).join(),
    };
    if (path.includes('/secrets/'))
      return answer({ metadata: { labels: { 'applyset.kubernetes.io/id': set.id }, annotations } });
    const items = ['kept', 'gone'].map((name) => ({ metadata: { name, uid: `uid-${name}` } }));
    return answer({ metadata: {}, items });
  };
  const served = (group: string) => ({
    ...{ group, version: 'v1', kind: 'RoleBinding', resource: 'rolebindings', namespaced: true, verbs: ['list'] },
    apiVersion: `${group}/v1`,
  });
  const manifest = {
    apiVersion: `${groups[1]}/v1`,
    kind: 'RoleBinding',
    name: 'kept',
    namespace: '',
    body: '',
    source: '',
  };
  const job = { manifests: [manifest], namespace: 'shop', options: { dryRun }, stopping: new AbortController().signal };
  const run = {
    job: job as unknown as ApplyJob,
    client: { ask },
    report: { deleted: [] },
    listener: { onDeleted() {} },
  };
  const kinds = {
    find: (apiVersion: string) => served(apiVersion.split('/')[0]!),
    findPreferred: (groupKind: string) => served(groupKind.slice('RoleBinding.'.length)),
  };
  const known: ClusterKnowledge = { kinds, membersBefore: 4 };
  const options = { set, prunes: true, allowsLargePrune: false };
  return [await pruneSet(run as unknown as ClusterRun, known, options), deleted];
}

test('an object that the manifests have in another API group now is not pruned, since its UID is the same', async () => {
  for (const dryRun of [false, true])
    for (const listed of [groups, groups.slice(0, 1)]) {
      const [obstacle, deleted] = await pruned(listed, dryRun);
      assert.equal(obstacle, undefined);
      assert.deepEqual([...new Set(deleted)], ['uid-gone']);
    }
});
