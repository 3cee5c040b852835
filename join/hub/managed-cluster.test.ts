import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import { markOf } from '../object/cluster-join.ts';
import { keepManagedCluster, type ClientConfig } from './managed-cluster.ts';

const join: ApiObject = { metadata: { name: 'edge', uid: 'u1', resourceVersion: '1' } };
const own = { url: 'https://a:6443', caBundle: 'QQ==' };
const moved = { url: 'https://b:6443', caBundle: 'QQ==' };
const first = { url: 'https://private:6443' };
const last = { url: 'https://public:6443', caBundle: 'Qg==' };
const written = 'gateway.portcullis.io/join-url';

/** What is written into a ManagedCluster of the ClusterJoin that has these addresses, in one of which `url` was. */
async function writesTo(configs: readonly object[], url: string | undefined, wanted: ClientConfig): Promise<unknown[]> {
  const { labels, annotations } = markOf(join);
  const present = {
    metadata: {
      ...{ name: 'edge', uid: 'u2', resourceVersion: '5', labels },
      annotations: { ...annotations, ...(url === undefined ? {} : { [written]: url }) },
    },
    spec: { managedClusterClientConfigs: configs },
  };
  const writes: unknown[] = [];
  const patch = async (_type: unknown, _object: unknown, body: unknown): Promise<void> => void writes.push(body);
  await keepManagedCluster({ patch } as unknown as ObjectWriter, join, present, wanted);
  return writes;
}

test('addresses that others added to a ManagedCluster stay, in their order', async () => {
  assert.deepEqual(await writesTo([first, own, last], own.url, own), []);
  const cases: readonly (readonly [readonly object[], string | undefined, ClientConfig, readonly object[]])[] = [
    [[first, own, last], own.url, moved, [first, moved, last]],
    [[first, { ...own, caBundle: 'Qw==' }, last], own.url, own, [first, own, last]],
    [[first, last], own.url, own, [first, last, own]],
    // An earlier version wrote no annotation: an address that it may have written, or not, stays.
    [[first, own], undefined, own, [first, own]],
    [[own, last], undefined, moved, [own, last, moved]],
  ];
  for (const [configs, url, wanted, managedClusterClientConfigs] of cases)
    assert.deepEqual(await writesTo(configs, url, wanted), [
      {
        metadata: { resourceVersion: '5', annotations: { [written]: wanted.url } },
        spec: { managedClusterClientConfigs },
      },
    ]);
});

test('a new ManagedCluster says which address is the gateway’s', async () => {
  const created: ApiObject[] = [];
  const create = async (_type: unknown, object: ApiObject): Promise<void> => void created.push(object);
  await keepManagedCluster({ create } as unknown as ObjectWriter, join, undefined, own);
  const { annotations } = created[0]!.metadata as unknown as { readonly annotations: object };
  assert.deepEqual(annotations, { ...markOf(join).annotations, [written]: own.url });
});
