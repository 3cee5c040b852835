// Audit events of writes that the gateway itself sends to a cluster: for ManifestWorks, for clusters that join, and for
// rights that TenantBindings grant.
import type { User } from '../../model/user.ts';
import type { MemberWrite } from '../../distribute/member/member-objects.ts';
import type { RunningAudit } from '../audit/audit.ts';

/** A write to a cluster, with the data for its audit event. */
export interface OwnWrite {
  readonly write: MemberWrite & { readonly cluster: string };
  /** A made-up user that stands, in the audit event, for the part of the gateway that writes. */
  readonly caller: User;
  /** The user whom the cluster sees for the write; undefined when the gateway uses its own rights. */
  readonly executor: User | undefined;
  readonly userAgent: string;
  readonly annotations: readonly (readonly [string, string])[];
}

const nothingToTell = (): void => undefined;

/**
 * Begins the audit event of a write. The returned function must be called with the HTTP status of the cluster's answer.
 * @throws GatewayError AUDIT_UNAVAILABLE when the write must be recorded but cannot be
 */
export function beginOwnWrite(
  audit: RunningAudit | undefined,
  { write, caller, executor, userAgent, annotations }: OwnWrite,
): (code: number) => void {
  if (audit === undefined) return nothingToTell;
  const { auditId, verb, cluster, object } = write;
  const [path = '', query] = write.path.split('?');
  const { group: apiGroup, version: apiVersion, resource } = object.kind;
  const { namespace, name } = object;
  const request = {
    caller,
    verb,
    isResource: true,
    apiGroup,
    resource,
    subresource: '',
    namespace,
    name,
    path,
  };
  return audit.own(request, {
    auditId,
    requestUri: `/apis/gateway.portcullis.io/v1alpha1/clusters/${cluster}/proxy${path}${query === undefined ? '' : `?${query}`}`,
    verb,
    user: caller,
    impersonatedUser: executor,
    sourceIPs: [],
    userAgent,
    objectRef: { resource, namespace, name, uid: '', apiGroup, apiVersion, resourceVersion: '', subresource: '' },
    annotations,
  });
}
