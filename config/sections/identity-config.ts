// The section of the configuration about the user that member clusters see. Security: each setting that weakens the
// rules (privileged exchange, forwarding system:masters, ServiceAccounts under their own names) needs a flag of its own
// and is never implied by another.
import { z } from 'zod';
import { mastersGroup } from '../../auth/callers/reserved.ts';
import { isListable } from '../../auth/outgoing/trust.ts';
import { listOf } from '../values/values.ts';
import type { Fault, Given } from '../values/values.ts';

/**
 * Settings for the user that member clusters see (docs/rules.md, "Reserved identities decided once"). Paths are
 * absolute.
 */
export interface IdentityConfig {
  /** File with cluster-gateway's ClusterGatewayProxyConfiguration: rules that replace the user. */
  readonly exchangeFile: string | undefined;
  readonly allowPrivilegedIdentity: boolean;
  /** The user that rules of type Privileged in `exchangeFile` impersonate. */
  readonly privilegedUser: string | undefined;
  readonly forwardSystemMasters: boolean;
  /**
   * Reserved users and groups that clusters see under the names that the hub or identity provider gave them. For the
   * group `system:masters`, `forwardSystemMasters` decides.
   */
  readonly forwardReserved: readonly string[];
  readonly serviceAccountIdentity: 'prefixed' | 'as-is' | 'refuse';
  /** With `username`, clusters see only the user name, without groups and extra. */
  readonly impersonationMode: 'full' | 'username';
  /** Keys of the user's `extra`, in lower case, that clusters may see; undefined means all keys. */
  readonly impersonateExtra: readonly string[] | undefined;
}

const text = z.string().min(1);

/** Schema of the identity settings in the configuration file. */
export const identityFileFields = {
  identityExchange: text.optional(),
  allowPrivilegedIdentity: z.boolean().optional(),
  privilegedUser: text.optional(),
  forwardSystemMasters: z.boolean().optional(),
  forwardReserved: z.string().optional(),
  serviceAccountIdentity: text.optional(),
  impersonationMode: text.optional(),
  impersonateExtra: z.string().optional(),
};
/**
 * The identity settings as the operator wrote them. `clusterGatewayProxyConfig` is another name of `identityExchange`.
 */
export type IdentityInput = Given<typeof identityFileFields> & { readonly clusterGatewayProxyConfig?: string };

/**
 * Checks the identity settings; `fault` is called for each setting that is wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent; with absolute paths
 */
export function readIdentityConfig(given: IdentityInput, fault: Fault): IdentityConfig {
  const { serviceAccountIdentity = 'prefixed', impersonationMode = 'full', privilegedUser } = given;
  if (!['prefixed', 'as-is', 'refuse'].includes(serviceAccountIdentity))
    fault('--service-account-identity', 'must be "prefixed", "as-is" or "refuse"');
  if (!['full', 'username'].includes(impersonationMode)) fault('--impersonation-mode', 'must be "full" or "username"');
  const { identityExchange: exchangeFile = given.clusterGatewayProxyConfig } = given;
  if (
    given.identityExchange !== undefined &&
    given.clusterGatewayProxyConfig !== undefined &&
    given.identityExchange !== given.clusterGatewayProxyConfig
  )
    fault('--identity-exchange', '--cluster-gateway-proxy-config is another name of this flag: give one of them');
  const allowPrivilegedIdentity = given.allowPrivilegedIdentity === true;
  if (allowPrivilegedIdentity && privilegedUser === undefined)
    fault('--privileged-user', 'is missing: --allow-privileged-identity needs the name of the user to impersonate');
  const forwardReserved = listOf(given.forwardReserved);
  for (const name of forwardReserved) {
    if (isListable(name)) continue;
    fault(
      '--forward-reserved',
      `${JSON.stringify(name)} cannot be listed: only names that begin with "system:" or "kubeadm:" are reserved, nodes and control plane components never go out, and ServiceAccounts follow --service-account-identity`,
    );
  }
  return Object.freeze({
    exchangeFile,
    allowPrivilegedIdentity,
    privilegedUser,
    forwardSystemMasters: given.forwardSystemMasters === true || forwardReserved.includes(mastersGroup),
    forwardReserved,
    serviceAccountIdentity: serviceAccountIdentity as IdentityConfig['serviceAccountIdentity'],
    impersonationMode: impersonationMode as IdentityConfig['impersonationMode'],
    impersonateExtra:
      given.impersonateExtra === undefined ? undefined : listOf(given.impersonateExtra).map((key) => key.toLowerCase()),
  });
}
