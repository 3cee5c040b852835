// What TenantBindings and ClusterPermissions have in common: both are objects of the hub that grant rights in clusters.
// The controller uses only these types, and not the fields of either kind.
import { textAt, textsAt, type JsonObject } from '../../lib/objects/json-object.ts';
import type { ApiObject } from '../../kube/types.ts';
import { LabelSelectorFault, readLabelSelector, type LabelSelector } from '../../lib/objects/label-selector.ts';
import type { Condition } from '../../kube/objects/conditions.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import { rbacGroup } from '../../lib/objects/api-names.ts';
import type { Modifier } from '../../distribute/stamp/authors.ts';

/**
 * Finalizer that keeps a deleted TenantBinding or ClusterPermission until its objects are removed from the clusters.
 */
export const grantFinalizer = 'gateway.portcullis.io/tenants';
/** Label of every object that is made in a cluster: the UID of the TenantBinding or ClusterPermission. */
export const uidLabel = 'gateway.portcullis.io/tenant-uid';
/**
 * Label of every object that is made in a cluster: the index of the entry of the TenantBinding or ClusterPermission
 * that asks for the object.
 */
export const grantLabel = 'gateway.portcullis.io/grant';
/**
 * Annotation of every object that is made in a cluster: kind and name of the TenantBinding or ClusterPermission, for
 * people.
 */
export const sourceAnnotation = 'gateway.portcullis.io/granted-by';
export const fieldManager = 'portcullis-tenants';
/** Names that begin with this are reserved for the objects that the gateway itself makes in a cluster. */
const ownName = 'portcullis:';
/** The default namespace in a member for the gateway's ServiceAccount, which a ClusterJoin makes. */
const gatewayNamespace = 'portcullis-system';

/**
 * The namespaces for which an object is made: chosen by name, or by their labels in the cluster. With `create`, missing
 * ones are created.
 */
export type Where =
  | { readonly names: readonly string[]; readonly create: boolean }
  | { readonly selector: LabelSelector };

/** A role or binding that a cluster should have. A namespaced one is made in every namespace of `where`. */
export interface RbacObject {
  readonly kind: 'ClusterRole' | 'ClusterRoleBinding' | 'Role' | 'RoleBinding';
  readonly name: string;
  /** The namespaces in which the object is made; undefined for cluster-scoped kinds. */
  readonly where: Where | undefined;
  /** `rules` of a role, `roleRef` and `subjects` of a binding. */
  readonly content: JsonObject;
  /** Index of the entry in the hub's object that asks for this object. */
  readonly grant: number;
}

/** The clusters in which rights are granted: all that at least one of these fields names or selects. */
export interface ClusterChoice {
  readonly all: boolean;
  readonly names: readonly string[];
  readonly selector: LabelSelector | undefined;
  readonly placements: readonly { readonly namespace: string; readonly name: string }[];
}

/** An object that was made in a cluster. `uid` is '' in an entry that was recorded before the object was made. */
export interface GrantedObject {
  readonly kind: RbacObject['kind'];
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

export type Phase = 'Pending' | 'Applied' | 'Error' | 'Removed';

/** The result of one grant (TenantBinding or ClusterPermission) in one cluster. */
export interface ClusterResult {
  readonly phase: Phase;
  readonly reason: string;
  readonly message: string;
  /** When the phase began, as RFC 3339 time. */
  readonly since: string;
  readonly objects: readonly GrantedObject[];
  /** The user as whom the objects were written last; undefined before any were. */
  readonly writer: Modifier | undefined;
}

/** Thrown when the object asks for something that is refused; the message says what to change. */
export class GrantFault extends Error {
  override readonly name = 'GrantFault';
  /** The reason that the status names. */
  readonly reason: string;

  constructor(message: string, reason = 'Refused') {
    super(message);
    this.reason = reason;
  }
}

/** TenantBinding or ClusterPermission: functions that read such an object and write its results. */
export interface GrantKind {
  readonly type: ResourceType;
  readonly kind: string;
  /** Type of the condition that says whether every chosen cluster has the rights. */
  readonly appliedType: string;
  clustersOf(object: ApiObject): ClusterChoice;
  /** The roles and bindings that the object asks for. @throws GrantFault */
  rbacObjectsOf(object: ApiObject): readonly RbacObject[];
  /** Whether objects are removed from a cluster that is no longer chosen. */
  prunes(object: ApiObject): boolean;
  /** When all rights of the object expire, in Unix milliseconds; undefined: never. */
  expiresAtMs(object: ApiObject): number | undefined;
  /** The results by cluster that the object's status or annotation records, for a restarted gateway. */
  resultsOf(object: ApiObject): ReadonlyMap<string, ClusterResult>;
  /** A JSON merge patch of metadata and status that records the results and conditions on the hub. */
  toldBy(
    results: ReadonlyMap<string, ClusterResult>,
    conditions: readonly Condition[],
    object: ApiObject,
  ): { readonly annotations: Readonly<Record<string, string | null>>; readonly status: JsonObject };
}

/** A key that identifies an object among those of both kinds: `KIND NAMESPACE/NAME` or `KIND NAME`. */
export function grantKey(kind: GrantKind, { metadata: { namespace, name } }: ApiObject): string {
  return `${kind.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/**
 * Reads the subjects of a binding. Refuses reserved ones, such as `system:` groups and the gateway's own. @throws
 * GrantFault
 */
export function readSubjects(subjects: readonly unknown[]): readonly JsonObject[] {
  return subjects.map((subject) => {
    const [kind, name, namespace] = ['kind', 'name', 'namespace'].map((field) => textAt(subject, field)) as [
      string,
      string,
      string,
    ];
    if (name === '') throw new GrantFault('a subject has no name');
    if (kind === 'ServiceAccount') {
      if (namespace === '') throw new GrantFault(`the ServiceAccount ${name} has no namespace`);
      if (namespace === gatewayNamespace)
        throw new GrantFault(
          `nothing is granted to the ServiceAccount ${name}: the namespace ${namespace} is the gateway's own`,
        );
      return { kind, name, namespace };
    }
    if (kind !== 'User' && kind !== 'Group')
      throw new GrantFault(`a subject is a ${JSON.stringify(kind)}, and not a User, Group or ServiceAccount`);
    if (name.startsWith('system:') || name.startsWith(ownName))
      throw new GrantFault(`nothing is granted to the ${kind} ${name}: names that begin so are reserved`);
    return { apiGroup: rbacGroup, kind, name };
  });
}

/** Returns a `roleRef`. Refuses the gateway's own roles. @throws GrantFault */
export function readRoleRef(kind: string, name: string): JsonObject {
  if (kind !== 'ClusterRole' && kind !== 'Role')
    throw new GrantFault(`a roleRef is a ${JSON.stringify(kind)}, and not a ClusterRole or Role`);
  if (name === '') throw new GrantFault(`a ${kind} has no name`);
  if (name.startsWith(ownName)) throw new GrantFault(`the ${kind} ${name} is the gateway's own`);
  return { apiGroup: rbacGroup, kind, name };
}

/** Returns the choice of these namespaces. Refuses the gateway's own namespace. @throws GrantFault */
export function readNamespaces(names: readonly string[], create: boolean): Where {
  if (names.includes(gatewayNamespace)) throw new GrantFault(`the namespace ${gatewayNamespace} is the gateway's own`);
  return { names, create };
}

/** Reads a metav1.LabelSelector; undefined when there is none. @throws GrantFault for what Kubernetes would refuse */
export function readSelector(selector: unknown): LabelSelector | undefined {
  if (selector === undefined || selector === null) return undefined;
  try {
    return readLabelSelector(selector);
  } catch (error) {
    if (!(error instanceof LabelSelectorFault)) throw error;
    throw new GrantFault(`a label selector cannot be used: ${error.message}`);
  }
}

const grantedKinds: readonly string[] = [
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
] satisfies RbacObject['kind'][];

/**
 * Reads the recorded objects of a status or annotation. Leaves out other kinds, which only somebody else can have
 * written there: what is recorded is deleted some day, and a Namespace that was made for a grant has its label, too.
 */
export function readGranted(list: readonly unknown[]): readonly GrantedObject[] {
  return list.flatMap((each) => {
    const [kind, namespace] = [textAt(each, 'kind'), textAt(each, 'namespace')];
    if (!grantedKinds.includes(kind)) return [];
    return {
      kind: kind as GrantedObject['kind'],
      ...(namespace === '' ? {} : { namespace }),
      name: textAt(each, 'name'),
      uid: textAt(each, 'uid'),
    };
  });
}

/**
 * Reads the recorded user as whom objects were written; undefined when there is none. Only for a status: who may write
 * the record chooses as whom the gateway deletes, and a status has its own right.
 */
export function readWriter(writer: unknown): Modifier | undefined {
  const name = textAt(writer, 'user');
  return name === '' ? undefined : { name, groups: textsAt(writer, 'groups') };
}
