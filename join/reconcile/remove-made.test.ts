import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import { MemberRefusal, type MemberObjects, type ObjectName } from '../../distribute/member/member-objects.ts';
import { accessObjects } from '../member/access-objects.ts';
import { joinSpecOf, markOf } from '../object/cluster-join.ts';
import { JoinStatus } from './join-status.ts';
import { removeInOrder, removeUnwanted } from './remove-made.ts';

type Json = Record<string, any>;

const spec = { bootstrapKubeconfigSecret: { namespace: 'b', name: 's' }, index: true };
const joinWith = (installed: unknown): ApiObject => ({
  metadata: { name: 'one', uid: 'join-uid', resourceVersion: '1' },
  spec,
  status: { installed },
});
const made = accessObjects({
  ...joinSpecOf(joinWith([])),
  ...markOf(joinWith([])),
  ownsNamespace: true,
}) as readonly Json[];
const keyOf = (kind: string, namespace: string, name: string): string => `${kind} ${namespace}/${name}`;
const keyIn = ({ kind, metadata }: Json): string => keyOf(kind, metadata.namespace ?? '', metadata.name);
const entryOf = ({ apiVersion, kind, metadata: { namespace, name } }: Json): Json => ({
  ...{ apiVersion, kind, name, uid: `uid of ${name}` },
  ...(namespace === undefined ? {} : { namespace }),
});

/** A member with what the ClusterJoin has made and some objects of others, and what is removed from it. */
function startMember(denied: (key: string) => boolean = () => false) {
  const live = new Map(
    made.map((each) => [
      keyIn(each),
      { ...each, metadata: { ...each['metadata'], uid: `uid of ${each['metadata'].name}` } },
    ]),
  );
  for (const key of [
    'ClusterRole /cluster-admin',
    'Namespace /kube-system',
    'ServiceAccount kube-system/portcullis-gateway',
  ])
    live.set(key, { metadata: { uid: 'foreign' } } as never);
  // Made by the ClusterJoin of another hub.
  live.set('ClusterRole /portcullis:works', {
    metadata: { uid: 'other', annotations: { 'gateway.portcullis.io/join': 'other' } },
  } as never);
  const removed: string[] = [];
  const asked: string[] = [];
  const at = ({ kind, namespace, name }: ObjectName): string => {
    const key = keyOf(kind.kind, namespace, name);
    asked.push(key);
    if (denied(key)) throw new MemberRefusal(403, 'Forbidden', 'no');
    return key;
  };
  const objects: Partial<MemberObjects> = {
    get: async (object) => live.get(at(object)),
    remove: async (object, uid) => {
      const key = at(object);
      if (live.get(key)?.['metadata'].uid === uid && live.delete(key)) removed.push(key);
    },
  };
  return { removed, asked, objects: objects as MemberObjects };
}

const same = (_type: unknown, object: ApiObject): Promise<ApiObject> => Promise.resolve(object);
const writer = { patch: same, patchStatus: same } as unknown as ObjectWriter;
const all = made.map(entryOf);
const expected = [
  ...['ClusterRoleBinding /portcullis:index-review', 'ClusterRole /portcullis:index-review'],
  ...['ClusterRoleBinding /portcullis:index', 'ClusterRole /portcullis:index'],
  ...['ClusterRoleBinding /portcullis:probe', 'ClusterRole /portcullis:probe'],
  ...['ClusterRoleBinding /portcullis:impersonator', 'ClusterRole /portcullis:impersonator'],
  ...['ClusterRoleBinding /portcullis:leave', 'Namespace /portcullis-system'],
];

const forged: readonly Json[] = [
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'cluster-admin', uid: 'foreign' },
  { apiVersion: 'v1', kind: 'Namespace', name: 'kube-system', uid: 'foreign' },
  { apiVersion: 'v1', kind: 'ServiceAccount', namespace: 'kube-system', name: 'portcullis-gateway', uid: 'foreign' },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'portcullis:works', uid: 'other' },
  { apiVersion: 'v1', kind: 'Secret', namespace: 'kube-system', name: 'token', uid: 'foreign' },
  { kind: null, name: null, uid: null },
  { kind: 'ClusterRole', name: '', uid: '' },
  { kind: 'ClusterRole', name: '../namespaces/kube-system', uid: 'foreign' },
  { kind: 'toString', name: 'x', uid: 'x' },
  {},
];

test('a member that leaves loses what its ClusterJoin has made and nothing else, whatever the status lists (ATT-61)', async () => {
  const lists: readonly (readonly [string, unknown])[] = [
    ['what was made', all],
    ['others too', [...all, ...forged]],
    ['others alone', forged],
    ['other UIDs', all.map((each) => ({ ...each, uid: 'foreign' }))],
    ['nothing', []],
    ['null', null],
    ['no list', 'x'],
    ['absent', undefined],
  ];
  for (const [what, installed] of lists) {
    const { objects, removed, asked } = startMember();
    const join = joinWith(installed);
    const status = new JoinStatus(join);
    await removeInOrder(objects, writer, join, status);
    assert.deepEqual(removed, expected, what);
    assert.deepEqual(
      asked.filter((key) => /kube-system|cluster-admin|Secret/.test(key)),
      [],
      what,
    );
    assert.deepEqual(status.memory.installed, []);
  }
});

test('objects that the gateway cannot read hold a cluster that leaves only if it has made them', async () => {
  const unread = startMember((key) => key === 'ClusterRole /portcullis:probe');
  const listed = joinWith(all);
  await assert.rejects(removeInOrder(unread.objects, writer, listed, new JoinStatus(listed)), MemberRefusal);
  assert.deepEqual(unread.removed, []);
  const never = startMember((key) => key.endsWith('/portcullis:works'));
  await removeInOrder(never.objects, writer, listed, new JoinStatus(listed));
  assert.deepEqual(never.removed, expected);
});

test('a changed spec removes what it no longer asks for and was made, and nothing else that the status lists', async () => {
  const access = made.filter(({ metadata }) => !metadata.name.includes('index'));
  const { objects, removed } = startMember();
  const join = joinWith([...all, ...forged]);
  const status = new JoinStatus(join);
  await removeUnwanted(objects, join, status, access);
  assert.deepEqual(
    removed,
    expected.filter((key) => key.includes('index')),
  );
  assert.deepEqual(
    status.memory.installed.map(({ name }) => name),
    access.map(({ metadata }) => metadata.name),
  );
});
