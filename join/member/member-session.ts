// Connections to a member for one step of a join, with the bootstrap credential or with a new token that is not stored
// yet. They are closed when the step ends.
import { textAt } from '../../lib/objects/json-object.ts';
import type { AddressRule } from '../../model/address-rule.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterRecord, ClusterSpec } from '../../model/records.ts';
import { unknownStatus } from '../../model/store.ts';
import { makeUser } from '../../model/user.ts';
import { withCheckedAddress } from '../../cache/sources/hub/address-checks.ts';
import { makeRegistry, type Access } from '../../cache/sources/objects/registration.ts';
import type { ApiObject } from '../../kube/types.ts';
import { makeMemberClient, type MemberClient } from '../../distribute/member/member-client.ts';
import type { ServedKind } from '../../kube/discovery/documents.ts';
import { makeMemberObjects, MemberRefusal } from '../../distribute/member/member-objects.ts';
import { makeTransport, transportParts } from '../../routing/pools/transport.ts';
import { makeConnections } from '../../routing/members/target.ts';

/** Clients of one member, whose requests carry one credential. */
export interface ReachedMember {
  /** Sends requests as the user of the credential. */
  readonly own: MemberClient;
  /** Sends requests that impersonate a user with this name. */
  as(user: string): MemberClient;
}

/**
 * Calls `work` with clients of the member, and closes the connections afterwards.
 * @param rule which addresses a member may have
 * @throws GatewayError CLUSTER_UNUSABLE when the address is refused; also whatever `work` throws
 */
export async function withMember<Result>(
  join: ApiObject,
  access: Access,
  rule: AddressRule,
  work: (member: ReachedMember) => Promise<Result>,
): Promise<Result> {
  const spec = specOf(join, access, rule);
  const record: ClusterRecord = { spec, status: unknownStatus, createdAt: '', resourceVersion: '' };
  const connections = makeConnections((each, credential) => makeTransport(transportParts(each, credential)));
  const parts = { cluster: spec.name, record: () => record, connections, userAgent: 'portcullis-join' };
  try {
    return await work({
      own: makeMemberClient(parts, () => 'self'),
      as: (user) => makeMemberClient(parts, () => makeUser({ name: user })),
    });
  } finally {
    connections.close('drain');
  }
}

/**
 * Returns the UID of the Namespace kube-system, which identifies a cluster.
 * @throws MemberRefusal, GatewayError
 */
export async function clusterUidOf({ own }: ReachedMember): Promise<string> {
  const kubeSystem = { kind: namespaces, namespace: '', name: 'kube-system' };
  const found = await makeMemberObjects(own, '', refuseWrites).get(kubeSystem);
  if (found === undefined) throw new MemberRefusal(404, 'NotFound', 'the cluster has no Namespace kube-system');
  return textAt(found, 'metadata', 'uid');
}

const namespaces: ServedKind = {
  ...{ group: '', version: 'v1', kind: 'Namespace', resource: 'namespaces' },
  ...{ namespaced: false, verbs: ['get', 'list', 'watch'] },
};

function refuseWrites(): never {
  throw new Error('this client must only read objects');
}

function specOf(join: ApiObject, access: Access, rule: AddressRule): ClusterSpec {
  const { name } = join.metadata;
  const [made] = makeRegistry('join')([
    {
      key: name,
      object: join,
      others: [],
      describe: () => ({ originalName: name, sourceDetail: `ClusterJoin ${name}`, labels: {} }),
      access: () => access,
    },
  ]);
  const spec = withCheckedAddress(made!, rule);
  if (spec.problem !== undefined) throw new GatewayError('CLUSTER_UNUSABLE', spec.problem.message);
  return spec;
}
