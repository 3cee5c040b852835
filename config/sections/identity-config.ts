// The section of the configuration about the user that member clusters see. Security: each setting that weakens the
// rules (privileged exchange, forwarding system:masters, ServiceAccounts under their own names) needs a flag of its own
// and is never implied by another.
import { mastersGroup } from '../../auth/callers/reserved.ts';
import { isListable } from '../../auth/outgoing/trust.ts';
import { anyText, list, onOff, oneOf, path } from '../settings/kinds.ts';
import { readSettings } from '../settings/settings.ts';
import type { Settings, Written } from '../settings/settings.ts';

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

/** The settings for the user that member clusters see. */
export const identitySettings = {
  forwardSystemMasters: {
    kind: onOff,
    default: false,
    text: "let a hub's `system:masters` be `system:masters` in the clusters",
  },
  forwardReserved: {
    kind: list(listableFault),
    default: [],
    otherwise: 'none',
    text: 'further `system:*` and `kubeadm:*` users and groups of a hub or identity provider that are themselves in the clusters, such as `system:authenticated:oauth`',
  },
  serviceAccountIdentity: {
    kind: oneOf('prefixed', 'as-is', 'refuse'),
    default: 'prefixed',
    text: "what a hub's ServiceAccount is in the clusters: `prefixed` is `cluster:hub:system:serviceaccount:NS:NAME`",
  },
  identityExchange: {
    kind: path,
    alias: 'clusterGatewayProxyConfig',
    text: "rules that change who goes out: cluster-gateway's ClusterGatewayProxyConfiguration; watched",
  },
  allowPrivilegedIdentity: { kind: onOff, default: false, text: 'load its PrivilegedIdentityExchanger rules' },
  privilegedUser: { kind: anyText, placeholder: '<name>', text: 'whom those rules impersonate' },
  impersonationMode: {
    kind: oneOf('full', 'username'),
    default: 'full',
    text: 'what goes out of a user; `username` is the name alone',
  },
  impersonateExtra: { kind: list(), placeholder: '<keys>', otherwise: 'all', text: 'extra keys that go out' },
} satisfies Settings;

function listableFault(name: string): string | undefined {
  if (isListable(name)) return undefined;
  return `${JSON.stringify(name)} cannot be listed: only names that begin with "system:" or "kubeadm:" are reserved, nodes and control plane components never go out, and ServiceAccounts follow --service-account-identity`;
}

/** Reads the identity settings; `written.fault` is called for each setting that is wrong. */
export function readIdentityConfig(written: Written): IdentityConfig {
  const { identityExchange: exchangeFile, ...given } = readSettings(identitySettings, written);
  if (given.allowPrivilegedIdentity && given.privilegedUser === undefined)
    written.fault(
      '--privileged-user',
      'is missing: --allow-privileged-identity needs the name of the user to impersonate',
    );
  return Object.freeze({
    ...given,
    exchangeFile,
    forwardSystemMasters: given.forwardSystemMasters || given.forwardReserved.includes(mastersGroup),
    impersonateExtra: given.impersonateExtra?.map((key) => key.toLowerCase()),
  });
}
