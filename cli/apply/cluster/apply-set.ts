// Sets of objects that belong together, stored as KEP-3659 (ApplySet) says, so that this command and `kubectl apply
// --prune --applyset` can manage the same set. The parent of a set is a Secret without data that lists the kinds and
// namespaces of the set. Every member has the label `applyset.kubernetes.io/part-of`. Security: an object is deleted
// only by its UID.
import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../../lib/objects/json-object.ts';
import { parseExact } from '../../../lib/json/exact-json.ts';
import { deleteCall, patchCall } from '../../../kube/objects/object-calls.ts';
import type { Kinds, ServedKind } from './kinds.ts';
import { pathOf } from '../../../kube/paths.ts';
import { phaseOf } from '../manifests/manifest.ts';
import { groupKindOf } from '../../../lib/objects/group-kind.ts';
import { Failed, refusal } from './member-client.ts';
import type { MemberClient } from './member-client.ts';

/** Label of every member of a set; its value is the id of the set. */
export const partOfLabel = 'applyset.kubernetes.io/part-of';
const idLabel = 'applyset.kubernetes.io/id';
const kindsAnnotation = 'applyset.kubernetes.io/contains-group-kinds';
const namespacesAnnotation = 'applyset.kubernetes.io/additional-namespaces';
const toolingAnnotation = 'applyset.kubernetes.io/tooling';
/**
 * The value of the annotation in which a parent names the tool that manages the set. kubectl refuses sets of other
 * tools, so this program, which stores sets exactly as kubectl does, gives kubectl's name (decision 0028).
 */
const tooling = 'kubectl/v1.36.0+portcullis';
const parentKind: ServedKind = {
  apiVersion: 'v1',
  group: '',
  version: 'v1',
  kind: 'Secret',
  resource: 'secrets',
  namespaced: true,
  verbs: [],
};

/** A set of objects, identified by the name and namespace of its parent Secret. */
export interface ApplySet {
  readonly name: string;
  readonly namespace: string;
  readonly id: string;
}

/** The kinds and namespaces of a set, as its parent Secret lists them. */
export interface SetContents {
  /** Kinds with their API group, such as `Deployment.apps` or `Secret`. */
  readonly groupKinds: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
}

/** An object in a cluster that belongs to a set, which its label says. */
export interface SetMember {
  readonly kind: ServedKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A problem with a set in one cluster, such as a parent that cannot be written; the message explains it. */
export class SetProblem extends Failed {}

/** Returns the set with this name. Its id is computed from name, namespace and kind of its parent, as KEP-3659 says. */
export function applySet(name: string, namespace: string): ApplySet {
  const hash = createHash('sha256').update(`${name}.${namespace}.Secret.`).digest('base64url');
  return { name, namespace, id: `applyset-${hash}-v1` };
}

/** Returns all kinds and namespaces that are in at least one of two sets. */
export function union(one: SetContents, other: SetContents): SetContents {
  return {
    groupKinds: one.groupKinds.union(other.groupKinds),
    namespaces: one.namespaces.union(other.namespaces),
  };
}

/**
 * Reads what the parent of a set lists; undefined when the cluster has no such set.
 * @throws SetProblem (rejects) when the parent may not be read, is not the parent of a set, or belongs to another tool
 */
export async function readSet(client: MemberClient, set: ApplySet): Promise<SetContents | undefined> {
  const path = pathOf(parentKind, set.namespace, set.name);
  const answer = await client.ask({ method: 'GET', path });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw new SetProblem(`the set cannot be read: ${refusal(answer)}`);
  const { metadata } = parseExact(answer.body) as { readonly metadata: JsonObject };
  const labels = isJsonObject(metadata['labels']) ? metadata['labels'] : {};
  const annotations = isJsonObject(metadata['annotations']) ? metadata['annotations'] : {};
  const keeper = String(annotations[toolingAnnotation]).split('/')[0];
  if (labels[idLabel] !== set.id) {
    throw new SetProblem(
      `secret/${set.name} in ${set.namespace} is not the parent of a set; choose another --set NAME`,
    );
  }
  if (keeper !== 'kubectl') throw new SetProblem(`the set is kept by ${keeper}; choose another --set NAME`);
  return {
    groupKinds: new Set(splitNames(annotations[kindsAnnotation])),
    namespaces: new Set([set.namespace, ...splitNames(annotations[namespacesAnnotation])]),
  };
}

function splitNames(value: unknown): readonly string[] {
  return typeof value === 'string' ? value.split(',').filter((name) => name !== '') : [];
}

/** Creates or replaces the parent of a set. @throws SetProblem (rejects) when the cluster refuses the write */
export async function writeSet(client: MemberClient, set: ApplySet, contents: SetContents): Promise<void> {
  const others = [...contents.namespaces].filter((namespace) => namespace !== set.namespace);
  const metadata = {
    name: set.name,
    namespace: set.namespace,
    labels: { [idLabel]: set.id },
    annotations: {
      [toolingAnnotation]: tooling,
      [kindsAnnotation]: [...contents.groupKinds].toSorted().join(','),
      [namespacesAnnotation]: others.toSorted().join(','),
    },
  };
  const path = pathOf(parentKind, set.namespace, set.name);
  const body = { apiVersion: 'v1', kind: 'Secret', metadata };
  const patch = { type: 'apply', fieldManager: 'portcullis-applyset', force: true, body } as const;
  const answer = await client.ask(patchCall(path, patch));
  if (answer.status !== 200 && answer.status !== 201) {
    throw new SetProblem(`the set cannot be written: ${refusal(answer)}`);
  }
}

/**
 * Lists the objects that have the label of the set, in the order in which they are deleted: CustomResourceDefinitions
 * late, Namespaces last. Kinds that the cluster does not serve are skipped.
 * @throws SetProblem (rejects) when a list is refused
 */
export async function listMembers(
  client: MemberClient,
  kinds: Kinds,
  set: ApplySet,
  contents: SetContents,
): Promise<readonly SetMember[]> {
  const members: SetMember[] = [];
  for (const groupKind of contents.groupKinds) {
    const kind = kinds.findPreferred(groupKind);
    if (kind === undefined) continue;
    for (const namespace of kind.namespaced ? contents.namespaces : ['']) {
      members.push(...(await listLabelled(client, kind, namespace, set)));
    }
  }
  return members.toReversed().toSorted((one, other) => phaseOf(other.kind) - phaseOf(one.kind));
}

async function listLabelled(
  client: MemberClient,
  kind: ServedKind,
  namespace: string,
  { id }: ApplySet,
): Promise<readonly SetMember[]> {
  const members: SetMember[] = [];
  let next = '';
  do {
    const query = new URLSearchParams({ labelSelector: `${partOfLabel}=${id}`, limit: '500', continue: next });
    const answer = await client.ask({
      method: 'GET',
      path: `${pathOf(kind, namespace)}?${query.toString()}`,
      accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
    });
    if (answer.status !== 200) throw new SetProblem(`${groupKindOf(kind)} cannot be listed: ${refusal(answer)}`);
    const list = parseExact(answer.body) as MetadataList;
    // A server written in Go may send an empty list as null.
    for (const { metadata } of list.items ?? []) {
      if (metadata.deletionTimestamp === undefined)
        members.push({ kind, namespace, name: metadata.name, uid: metadata.uid });
    }
    next = list.metadata.continue ?? '';
  } while (next !== '');
  return members;
}

interface MetadataList {
  readonly metadata: { readonly continue?: string };
  readonly items:
    | null
    | readonly {
        readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
      }[];
}

/**
 * Deletes a member of a set by its UID, so that a new object with the same name is not deleted.
 * @param dryRun true to ask the cluster what would happen, without deleting
 * @returns why the cluster refused; undefined when it did not
 */
export async function deleteMember(
  client: MemberClient,
  { kind, namespace, name, uid }: SetMember,
  dryRun: boolean,
): Promise<string | undefined> {
  const answer = await client.ask(deleteCall(pathOf(kind, namespace, name), uid, { dryRun }));
  return [200, 202, 404].includes(answer.status) ? undefined : refusal(answer);
}

/** Deletes the parent of a set after its members are gone. @throws SetProblem (rejects) when the cluster refuses */
export async function deleteSet(client: MemberClient, set: ApplySet): Promise<void> {
  const path = pathOf(parentKind, set.namespace, set.name);
  const answer = await client.ask({ method: 'DELETE', path });
  if (answer.status !== 200 && answer.status !== 404) {
    throw new SetProblem(`the parent of the set cannot be deleted: ${refusal(answer)}`);
  }
}
