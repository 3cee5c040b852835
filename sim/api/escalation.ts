// Prevents privilege escalation, as kube-apiserver does (registry/rbac/escalation_check.go): a user may only write
// Roles and bindings that grant permissions which the user has. Users who have the verb `escalate` on the Role, or
// `bind` on the Role that a binding refers to, are exempt.
import { attributesOf, ruleAllows, rulesFor } from '../access/authorize.ts';
import type { Call } from '../call/cluster.ts';
import type { Resource } from '../store/resources.ts';
import { forbidden } from '../model/status-error.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';

const rbac = 'rbac.authorization.k8s.io';

/**
 * Checks the write of a Role or binding. @throws StatusError 403 when the Role or binding would grant permissions that
 * the caller does not have
 */
export function checkEscalation(call: Call, resource: Resource, object: KubeObject): void {
  if (resource.group !== rbac || call.user.groups.includes('system:masters')) return;
  const { store } = call.cluster;
  const { namespace = '', name } = object.metadata;
  const isBinding = resource.plural.endsWith('bindings');
  let granted: readonly JsonObject[] = object['rules'] ?? [];
  let exempt = may(call, 'escalate', resource.plural, namespace, name);
  if (isBinding) {
    const { kind, name: role } = object['roleRef'] ?? {};
    const plural = kind === 'ClusterRole' ? 'clusterroles' : 'roles';
    exempt = may(call, 'bind', plural, namespace, role);
    granted = store.get(`${rbac}/${plural}`, plural === 'roles' ? namespace : '', role)?.['rules'] ?? [];
  }
  if (exempt) return;
  const { rules } = rulesFor(store, call.user, namespace);
  const missing = granted.flatMap(atoms).filter((atom) => !rules.some((rule) => covers(rule, atom)));
  if (missing.length === 0) return;
  const list = missing.map(atomText).join('\n');
  const groups = call.user.groups.map((group) => JSON.stringify(group)).join(' ');
  throw forbidden(
    resource,
    name,
    `user ${JSON.stringify(call.user.name)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${list}`,
  );
}

function may(call: Call, verb: string, plural: string, namespace: string, name: string): boolean {
  const about = { group: rbac, version: 'v1', resource: plural, namespace, name };
  return call.cluster.authorize(attributesOf(call.user, verb, about)).isAllowed;
}

/** A single permission: one verb on one resource, on one named object of it, or on one URL. */
interface Atom {
  readonly verb: string;
  readonly group?: string;
  readonly resource?: string;
  readonly name?: string;
  readonly url?: string;
}

/** Splits a rule into single permissions: one verb on one resource (or one named object), or one verb on one URL. */
function atoms(rule: JsonObject): Atom[] {
  const verbs: readonly string[] = rule['verbs'] ?? [];
  const urls: readonly string[] = rule['nonResourceURLs'] ?? [];
  const names: readonly (string | undefined)[] =
    (rule['resourceNames'] ?? []).length === 0 ? [undefined] : rule['resourceNames'];
  const onUrls = verbs.flatMap((verb) => urls.map((url) => ({ verb, url })));
  const onResources = verbs.flatMap((verb) =>
    ((rule['apiGroups'] ?? []) as string[]).flatMap((group) =>
      ((rule['resources'] ?? []) as string[]).flatMap((resource) =>
        names.map((name) => ({ verb, group, resource, ...(name === undefined ? {} : { name }) })),
      ),
    ),
  );
  return [...onUrls, ...onResources];
}

/** Whether one rule of the caller grants this permission. */
function covers(rule: JsonObject, atom: Atom): boolean {
  const [resource = '', subresource = ''] = (atom.resource ?? '').split('/');
  const about = { group: atom.group ?? '', resource, subresource, name: atom.name ?? '' };
  const url = atom.url === undefined ? {} : { path: atom.url };
  return ruleAllows(rule, attributesOf({ name: '', groups: [] }, atom.verb, { ...about, ...url }));
}

function atomText({ verb, group, resource, name, url }: Atom): string {
  const list = (value: string): string => `[${JSON.stringify(value)}]`;
  if (url !== undefined) return `{NonResourceURLs:${list(url)}, Verbs:${list(verb)}}`;
  const names = name === undefined ? '' : `, ResourceNames:${list(name)}`;
  return `{APIGroups:${list(group ?? '')}, Resources:${list(resource ?? '')}${names}, Verbs:${list(verb)}}`;
}
