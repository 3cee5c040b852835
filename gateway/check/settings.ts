// Finds weaknesses in the settings themselves; no file is read for it. Default values are checked as well.
import { mastersGroup } from '../../auth/callers/reserved.ts';
import { isLoopback } from '../../lib/text/host-port.ts';
import type { Config } from '../../config/configuration.ts';
import type { Weakness } from './weakness.ts';

/** Finds settings that are weak. */
export function settingsWeaknesses(config: Config): readonly Weakness[] {
  return [...listeners(config), ...users(config), ...identities(config), ...records(config)];
}

function listeners(config: Config): readonly Weakness[] {
  const found: Weakness[] = [];
  const { limits } = config;
  const unlimited = [
    ['--max-connections', limits.connections],
    ['--max-address-connections', limits.addressConnections],
    ['--max-requests-inflight', limits.requests],
    ['--max-user-requests-inflight', limits.userRequests],
    ['--max-streams', limits.streams],
    ['--slow-client-timeout', limits.slowClientTimeoutMs],
  ].flatMap(([flag, value]) => (value === Number.POSITIVE_INFINITY ? [String(flag)] : []));
  if (!isLoopback(config.listen.host) && unlimited.length > 0) {
    found.push({
      name: 'UnlimitedListener',
      severity: 'medium',
      where: `--listen ${config.listen.host}`,
      what: `other machines reach the listener, and there is no limit for ${unlimited.join(', ')}: one client can take everything`,
      fix: `Leave ${unlimited.join(', ')} out to have the default, or give a number.`,
    });
  }
  if (!isLoopback(config.opsListen.host) && config.hub === undefined) {
    found.push({
      name: 'OpenMetrics',
      severity: 'medium',
      where: `--ops-listen ${config.opsListen.host}`,
      what: 'metrics and debug pages name clusters and users, in plain HTTP and to everybody who reaches the address',
      fix: 'Use a loopback address, for example --ops-listen 127.0.0.1:8090.',
    });
  }
  if (!limits.endExpiredStreams) {
    found.push({
      name: 'StreamsOutliveCredentials',
      severity: 'medium',
      where: '--no-end-expired-streams',
      what: 'watches and exec sessions go on after the credential that opened them has ended',
      fix: 'Remove the flag.',
    });
  }
  if (config.timeScale !== 1) {
    found.push({
      name: 'ShortenedTimes',
      severity: 'medium',
      where: 'environment',
      what: `every deadline is shortened to ${config.timeScale} of itself, which is for tests`,
      fix: 'Unset PORTCULLIS_TEST_TIME_SCALE.',
    });
  }
  return found;
}

function users(config: Config): readonly Weakness[] {
  const found: Weakness[] = [];
  if (config.tokenAuthFile !== undefined) {
    found.push({
      name: 'StaticTokens',
      severity: 'medium',
      where: config.tokenAuthFile,
      what: 'tokens stand in plain text in a file and never expire: whoever reads it once is that user for ever',
      fix: 'Use an identity provider (--authentication-config), client certificates (--client-ca-file) or a hub, and drop --token-auth-file.',
    });
  }
  if (config.authentication.anonymousAuth === true) found.push(anonymousWeakness('--anonymous-auth', []));
  if (config.identity === 'self') {
    found.push({
      name: 'IdentitySelf',
      severity: 'low',
      where: '--identity',
      what: 'everybody who has the one token acts with the rights of the kubeconfig; no cluster learns who asked',
      fix: 'Use --identity=impersonate for anything but your own machine.',
    });
  } else if (config.authorizationRules === undefined && config.hub === undefined) {
    found.push({
      name: 'NoAuthorizationRules',
      severity: 'medium',
      where: '--authorization-rules',
      what: 'every user who can log in may use every cluster; only the RBAC of the clusters stands in between',
      fix: 'Write rules (docs/how-to/authorization-rules.md) and give them with --authorization-rules FILE.',
    });
  }
  return found;
}

/**
 * The weakness `AnonymousAuth`: requests without a credential are accepted.
 * @param paths the only paths on which they are accepted; an empty list means all paths
 */
export function anonymousWeakness(where: string, paths: readonly string[]): Weakness {
  return {
    name: 'AnonymousAuth',
    severity: paths.length > 0 ? 'low' : 'high',
    where,
    what:
      paths.length > 0
        ? `requests without a credential are let in to ${paths.join(', ')}`
        : 'requests without a credential are let in as system:anonymous, on every path',
    fix: 'Remove it: health paths answer without it. Or limit it to paths, with "anonymous" in --authentication-config.',
  };
}

function identities({ outgoing, identity }: Config): readonly Weakness[] {
  if (identity === 'self') return [];
  const found: Weakness[] = [];
  if (outgoing.forwardSystemMasters) {
    found.push({
      name: 'ForwardSystemMasters',
      severity: 'high',
      where: '--forward-system-masters',
      what: "whoever is in the hub's system:masters may do anything in every cluster, past all RBAC",
      fix: 'Remove the flag and bind a group of your own to cluster-admin in the clusters where it is wanted.',
    });
  }
  const reserved = outgoing.forwardReserved.filter((name) => name !== mastersGroup);
  if (reserved.length > 0) {
    found.push({
      name: 'ForwardReserved',
      severity: 'high',
      where: '--forward-reserved',
      what: `a hub or identity provider can make anybody ${reserved.join(', ')} in every cluster, and a cluster may have bound such a name to cluster-admin by itself`,
      fix: 'Remove the names and bind groups of your own in the clusters where their rights are wanted.',
    });
  }
  if (outgoing.serviceAccountIdentity === 'as-is') {
    found.push({
      name: 'ServiceAccountsAsIs',
      severity: 'high',
      where: '--service-account-identity',
      what: "a hub's ServiceAccount goes out under its own name and so has the rights of whatever ServiceAccount is called the same in a cluster",
      fix: 'Use --service-account-identity=prefixed (the default) and bind the prefixed names, or =refuse.',
    });
  }
  if (outgoing.allowPrivilegedIdentity) {
    found.push({
      name: 'PrivilegedIdentity',
      severity: 'high',
      where: '--allow-privileged-identity',
      what: `rules may send callers out as ${outgoing.privilegedUser ?? 'the privileged user'}, whoever they are`,
      fix: 'Remove the flag and name a user or group of little rights in a StaticMappingIdentityExchanger rule.',
    });
  }
  return found;
}

function records(config: Config): readonly Weakness[] {
  if (config.audit !== undefined) return [];
  return [
    {
      name: 'NoAudit',
      severity: 'medium',
      where: '--audit-policy-file',
      what: 'nobody can say later who did what: the clusters know only the names the gateway gave them',
      fix: 'Give --audit-policy-file FILE with --audit-log-path FILE or --audit-webhook-config-file FILE.',
    },
  ];
}
