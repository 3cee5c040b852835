// Audit events of writes that the gateway itself sends to a cluster: those of ManifestWorks, and those of clusters that
// join.
import type { User } from '../../cache/model/user.ts';
import type { MemberWrite } from '../../distribute/member/member-objects.ts';
import type { RunningAudit } from '../audit/audit.ts';

/** A write to a cluster, and what its audit event says about it. */
export interface OwnWrite {
  readonly write: MemberWrite & { readonly cluster: string };
  /** Stands for the part of the gateway that writes. */
  readonly caller: User;
  /** User as whom the cluster sees the write; undefined for the gateway's own credential. */
  readonly executor: User | undefined;
  readonly userAgent: string;
  readonly annotations: readonly (readonly [string, string])[];
}

const nothingToTell = (): void => undefined;

/**
 * Begins the audit event. The returned function must be called with the status of the answer.
 * @throws GatewayError AUDIT_UNAVAILABLE when the write must be recorded and cannot be
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
