// The rules that decide which user a cluster sees, read from flags and from the exchange file, which is watched for
// changes. A changed file replaces all rules at once, and results that were cached under the old rules are dropped.
import { makeIdentityExchange } from '../../auth/outgoing/identity-exchange.ts';
import { parseIdentityRules } from '../../auth/outgoing/identity-rules.ts';
import type { IdentityRule, IdentityRuleLimits } from '../../auth/outgoing/identity-rules.ts';
import { makeOutgoingRules, outgoingIdentity } from '../../auth/outgoing/outgoing.ts';
import type { OutgoingRules } from '../../auth/outgoing/outgoing.ts';
import { refuseOwnNames } from '../../auth/callers/reserved.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import type { IdentityConfig } from '../../config/sections/identity-config.ts';
import type { Reloading } from '../../config/reloading.ts';

/** Decides which user a cluster sees for a caller, by the present rules. */
export interface OutgoingIdentities {
  /**
   * The user that the cluster sees for a caller.
   * @throws GatewayError when the rules refuse the caller, as `outgoingIdentity` in auth/outgoing/outgoing.ts does
   */
  identity(user: User, cluster: ClusterSpec): User;
  /**
   * A number that changes whenever the rules have been read again, so that callers of this function know when to drop
   * cached results.
   */
  generation(): number;
  /**
   * Sets the listener that is called after the rules file was read again. A second call replaces the first listener.
   */
  onChange(listener: () => void): void;
  /**
   * Why the gateway must not send requests to the cluster: an annotation of the cluster has invalid identity rules.
   * Undefined when it may send requests.
   */
  clusterFault(cluster: ClusterSpec): string | undefined;
}

/**
 * Reads the rules about which user clusters see, and watches their file.
 * @throws ConfigurationError (rejects) for a file, or a user in `--privileged-user`, that cannot be used
 */
export async function startOutgoingIdentities(
  config: IdentityConfig,
  reloading: Reloading,
): Promise<OutgoingIdentities> {
  const limits: IdentityRuleLimits = {
    privilegedUser: privilegedUser(config),
    usernameOnly: config.impersonationMode === 'username',
  };
  const withRules = (rules: readonly IdentityRule[]): OutgoingRules =>
    makeOutgoingRules({
      trust: config,
      exchange: makeIdentityExchange(rules, limits),
      extra: config.impersonateExtra === undefined ? undefined : new Set(config.impersonateExtra),
      usernameOnly: limits.usernameOnly,
    });
  let current = withRules([]);
  let generation = 0;
  let changed: (() => void) | undefined;
  const { exchangeFile: file } = config;
  if (file !== undefined) {
    await reloading.add([file], (text = '') => {
      current = withRules(parseIdentityRules(text, file, limits));
      generation += 1;
      changed?.();
    });
  }
  return {
    identity: (user, cluster) => outgoingIdentity(user, cluster, current),
    generation: () => generation,
    onChange: (listener) => (changed = listener),
    clusterFault: (cluster) => current.exchange.fault(cluster),
  };
}

/**
 * The user in `--privileged-user`. A name that no cluster may ever see is refused here, at the start, and not only when
 * a privileged rule first applies to a request.
 * @throws ConfigurationError for such a name
 */
function privilegedUser({ allowPrivilegedIdentity, privilegedUser: name }: IdentityConfig): string | undefined {
  if (!allowPrivilegedIdentity) return undefined;
  try {
    refuseOwnNames(makeUser({ name: name ?? '' }));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new ConfigurationError([{ file: '--privileged-user', message: error.message }]);
  }
  return name;
}
