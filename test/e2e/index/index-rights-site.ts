// The members' objects as rows of an index: what of a member is listed and written, and when its RBAC is complete.
// Aggregated roles are written by a controller some time later, and what was deleted must be deleted from the index,
// too.
import type { IndexStore } from '../../../store/store.ts';
import type { Incarnation, TypeInfo } from '../../../query/types.ts';
import type { ListedObject, RightsMember } from './index-rights-member.ts';
import { randomRbac, worldData, worldTypes } from './index-rights-world.ts';
import type { Pick, WorldType } from './index-rights-world.ts';
import { eventually } from '../../site/polling.ts';

const rbac = 'rbac.authorization.k8s.io';
export const rightsTypes: readonly WorldType[] = [
  { group: rbac, version: 'v1', resource: 'roles', kind: 'Role', namespaced: true },
  { group: rbac, version: 'v1', resource: 'rolebindings', kind: 'RoleBinding', namespaced: true },
  { group: rbac, version: 'v1', resource: 'clusterroles', kind: 'ClusterRole', namespaced: false },
  { group: rbac, version: 'v1', resource: 'clusterrolebindings', kind: 'ClusterRoleBinding', namespaced: false },
];

/** The first and only life of a member; its record has the uid that `testRecord` gives it. */
export const incarnationOf = (name: string): Incarnation => ({ id: `uid-${name}/1`, cluster: name });

/** Makes objects and RBAC for these users, and waits until the controllers have written the aggregated roles. */
export async function fillMember(
  member: RightsMember,
  users: readonly { readonly name: string }[],
  pick: Pick,
): Promise<void> {
  const data = worldData();
  await member.make(data.filter(({ kind }) => kind === 'Namespace'));
  await member.make(data.filter(({ kind }) => kind !== 'Namespace'));
  await member.make(randomRbac(pick, users, 'first'));
  await aggregationSettled(member);
  const [deployments, replicaSets] = ['deployments', 'replicasets'].map((resource) => {
    return worldTypes.find((type) => type.resource === resource)!;
  });
  await eventually(`${member.name}: replica sets`, async () => {
    return (await member.list(replicaSets!)).length >= (await member.list(deployments!)).length;
  });
}

/** Each aggregated role holds as many rules as the roles it is made of; the built-in `view` is filled last. */
export async function aggregationSettled(member: RightsMember): Promise<void> {
  await eventually(`${member.name}: aggregated roles`, async () => {
    const roles = await member.list(rightsTypes[2]!);
    const rulesOf = (role: ListedObject | undefined): readonly unknown[] => (role?.['rules'] ?? []) as unknown[];
    const texts = (rules: readonly unknown[]) => new Set(rules.map((rule) => JSON.stringify(rule)));
    const view = roles.find(({ metadata }) => metadata.name === 'view');
    return (
      rulesOf(view).length > 0 &&
      ['0', '1'].every((index) => {
        const parts = roles.filter(({ metadata }) => metadata.labels?.['portcullis.test/aggregate-to'] === index);
        const expected = texts(parts.flatMap(rulesOf));
        const made = texts(rulesOf(roles.find(({ metadata }) => metadata.name === `aggregate-${index}`)));
        return expected.size === made.size && [...expected].every((rule) => made.has(rule));
      })
    );
  });
}

/** Brings the store to what the member has: what is new or other, and what is gone. */
export async function copyMember(store: IndexStore, member: RightsMember): Promise<void> {
  const incarnation = incarnationOf(member.name);
  const confirmedAtMs = Date.now();
  for (const type of [...rightsTypes, ...worldTypes]) {
    const items = await member.list(type);
    const there = new Set(items.map(({ metadata }) => JSON.stringify([metadata.namespace ?? '', metadata.name])));
    const stored = await store.versions(incarnation.id, type);
    await store.apply({
      incarnation,
      type: infoOf(type),
      upserts: items.map((item) => ({
        namespace: item.metadata.namespace ?? '',
        name: item.metadata.name,
        uid: item.metadata.uid,
        resourceVersion: item.metadata.resourceVersion,
        ownerUid: '',
        createdAtMs: Date.parse(item.metadata.creationTimestamp),
        labels: Object.entries(item.metadata.labels ?? {}),
        terms: [],
        raw: Buffer.from(JSON.stringify({ apiVersion: apiVersionOf(type), kind: type.kind, ...item })),
      })),
      deletes: stored.filter(({ namespace, name }) => !there.has(JSON.stringify([namespace, name]))),
      position: { resourceVersion: '1', confirmedAtMs },
    });
  }
}

function apiVersionOf({ group, version }: WorldType): string {
  return group === '' ? version : `${group}/${version}`;
}

function infoOf(type: WorldType): TypeInfo {
  const { group, resource, version, kind, namespaced } = type;
  const names = { singular: kind.toLowerCase(), shortNames: [], categories: [] };
  return { group, resource, version, versions: [version], kind, ...names, namespaced, convertible: false };
}
