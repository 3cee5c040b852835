// Checks with SelfSubjectAccessReviews that the bootstrap credential may do everything that a ClusterJoin does, before
// anything is changed in the member.
import { listAt, textsAt, type JsonObject } from '../../lib/objects/json-object.ts';
import type { MemberObjects, ObjectName } from '../../distribute/member/member-objects.ts';
import { accountName, nameOf } from './access-objects.ts';

/**
 * Returns the rights that the bootstrap credential lacks, as `verb resource.group`; empty when it lacks none.
 * @param wanted the objects that the ClusterJoin makes
 * @param others objects of the bundle, which are applied too
 */
export async function missingRights(
  objects: MemberObjects,
  wanted: readonly JsonObject[],
  memberNamespace: string,
  others: readonly ObjectName[] = [],
): Promise<readonly string[]> {
  const questions = new Map<string, readonly [verb: string, object: ObjectName]>();
  const ask = (verb: string, object: ObjectName): void => {
    questions.set(wordsOf(verb, object), [verb, { ...object, name: '' }]);
  };
  const applied = ['create', 'get', 'patch'];
  for (const object of [...wanted.map(nameOf), ...others]) for (const verb of applied) ask(verb, object);
  const account = nameOf({ kind: 'ServiceAccount', metadata: { namespace: memberNamespace, name: accountName } });
  ask('create', { ...account, kind: { ...account.kind, resource: 'serviceaccounts/token' } });
  const roles = wanted.map(nameOf).filter(({ kind: { resource } }) => resource === 'clusterroles');
  const [role] = roles;
  const isFree = role !== undefined && (await objects.may('escalate', role)) && (await objects.may('bind', role));
  // Without `escalate` and `bind`, RBAC lets nobody grant rights that they do not have themselves.
  if (!isFree) for (const rule of wanted.flatMap((each) => listAt(each, 'rules'))) askRule(rule, ask, memberNamespace);
  const answers = await Promise.all(
    [...questions].map(async ([words, question]) => ((await objects.may(...question)) ? [] : [words])),
  );
  return answers.flat();
}

function askRule(rule: unknown, ask: (verb: string, object: ObjectName) => void, memberNamespace: string): void {
  for (const group of textsAt(rule, 'apiGroups'))
    for (const resource of textsAt(rule, 'resources'))
      for (const verb of textsAt(rule, 'verbs'))
        ask(verb, {
          kind: { group, version: '*', kind: '', resource, namespaced: false, verbs: [] },
          namespace: resource === 'serviceaccounts/token' ? memberNamespace : '',
          name: '',
        });
}

function wordsOf(verb: string, { kind: { group, resource }, namespace }: ObjectName): string {
  return `${verb} ${resource}${group === '' ? '' : `.${group}`}${namespace === '' ? '' : ` in namespace ${namespace}`}`;
}
