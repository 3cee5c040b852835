// The section of the configuration about the identity that requests go out with. Each weakening (privileged exchange,
// forwarding system:masters, ServiceAccounts as they are) needs a flag of its own; none is implied by another.
import { z } from 'zod';
import { mastersGroup } from '../../auth/callers/reserved.ts';
import { isListable } from '../../auth/outgoing/trust.ts';
import { listOf } from './values.ts';
import type { Fault } from './values.ts';

/** Rules of the outgoing identity (rule "reserved identities decided once"). Paths are absolute. */
export interface IdentityConfig {
  /** cluster-gateway's ClusterGatewayProxyConfiguration. */
  readonly exchangeFile: string | undefined;
  readonly allowPrivilegedIdentity: boolean;
  /** Whom Privileged rules impersonate. */
  readonly privilegedUser: string | undefined;
  readonly forwardSystemMasters: boolean;
  /** Reserved users and groups that go out as a hub or provider gives them; `system:masters` has the option above. */
  readonly forwardReserved: readonly string[];
  readonly serviceAccountIdentity: 'prefixed' | 'as-is' | 'refuse';
  /** `username` sends the name alone. */
  readonly impersonationMode: 'full' | 'username';
  /** Extra keys that may go out, lower case; undefined means all. */
  readonly impersonateExtra: readonly string[] | undefined;
}

/** What a person may write, as text. */
export interface IdentityInput {
  readonly identityExchange?: string;
  readonly clusterGatewayProxyConfig?: string;
  readonly allowPrivilegedIdentity?: boolean;
  readonly privilegedUser?: string;
  readonly forwardSystemMasters?: boolean;
  readonly forwardReserved?: string;
  readonly serviceAccountIdentity?: string;
  readonly impersonationMode?: string;
  readonly impersonateExtra?: string;
}

const text = z.string().min(1);

/** The same in the configuration file. */
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
 * Reads it; faults are handed to `fault`.
 * @param given flags over file, paths absolute
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
    fault('--privileged-user', '--allow-privileged-identity needs the name of the user such requests go out as');
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
