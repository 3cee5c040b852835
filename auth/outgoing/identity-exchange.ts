// Identity exchange as in cluster-gateway: rules of the cluster's annotation first, then those of the gateway's file.
// The first match wins; without a match the caller keeps the identity. A cluster whose annotation cannot be read is
// refused and never falls through to the file's rules, which were not written for it.
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterSpec } from '../../cache/model/records.ts';
import type { User } from '../../cache/model/user.ts';
import { maxPatternText } from '../../lib/text/go-pattern.ts';
import type { GoPattern } from '../../lib/text/go-pattern.ts';
import { parseClusterIdentityRules } from './identity-rules.ts';
import type { IdentityRule, IdentityRuleLimits, IdentitySource } from './identity-rules.ts';

/**
 * What exchange needs of a cluster; pass the record's own `spec`, since the rules of its annotation are remembered for
 * that object.
 */
export type ExchangeCluster = Pick<ClusterSpec, 'name' | 'identityExchange'>;

/** Answers as whom a user goes out. Synchronous. */
export interface IdentityExchange {
  /**
   * False when no rule can ever apply to this cluster, so that callers can remember one answer for all such clusters.
   */
  concerns(cluster: ExchangeCluster): boolean;
  /**
   * The identity that a rule puts in place of the user; undefined when no rule matches.
   * @throws GatewayError CLUSTER_UNUSABLE when the cluster's annotation cannot be used, IDENTITY_REFUSED for a name
   *   that is too long to compare with a pattern
   */
  exchange(user: User, cluster: ExchangeCluster): User | undefined;
  /** What is wrong with the cluster's annotation, in words for its conditions. */
  fault(cluster: ExchangeCluster): string | undefined;
}

/** An exchange with the rules of the gateway's file; `[]` when there is none. */
export function makeIdentityExchange(rules: readonly IdentityRule[], limits: IdentityRuleLimits): IdentityExchange {
  const annotated = new WeakMap<ExchangeCluster, readonly IdentityRule[] | ConfigurationError>();
  const ownRules = (cluster: ExchangeCluster): readonly IdentityRule[] | ConfigurationError => {
    if (cluster.identityExchange === undefined) return [];
    let own = annotated.get(cluster);
    if (own === undefined) {
      own = readAnnotation(cluster.identityExchange, cluster.name, limits);
      annotated.set(cluster, own);
    }
    return own;
  };
  const exchange: IdentityExchange = {
    concerns: (cluster) => rules.length > 0 || cluster.identityExchange !== undefined,
    exchange(user, cluster) {
      const own = ownRules(cluster);
      if (own instanceof ConfigurationError) throw unusable(cluster.name, own);
      return (matchingRule(own, user, cluster.name) ?? matchingRule(rules, user, cluster.name))?.becomes;
    },
    fault(cluster) {
      const own = ownRules(cluster);
      return own instanceof ConfigurationError ? own.message : undefined;
    },
  };
  return Object.freeze(exchange);
}

/**
 * The first rule whose source holds for this user and cluster.
 * @throws GatewayError IDENTITY_REFUSED when a pattern would have to be compared with a very long name
 */
export function matchingRule(rules: readonly IdentityRule[], user: User, cluster: string): IdentityRule | undefined {
  return rules.find(({ source }) => sourceHolds(source, user, cluster));
}

function sourceHolds(source: IdentitySource, user: User, cluster: string): boolean {
  return (
    (source.user === undefined || user.name === source.user) &&
    (source.group === undefined || user.groups.includes(source.group)) &&
    (source.uid === undefined || user.uid === source.uid) &&
    (source.cluster === undefined || cluster === source.cluster) &&
    (source.clusterPattern === undefined || matches(source.clusterPattern, cluster)) &&
    (source.userPattern === undefined || matches(source.userPattern, user.name)) &&
    (source.groupPattern === undefined || user.groups.some((group) => matches(source.groupPattern!, group)))
  );
}

function matches(pattern: GoPattern, text: string): boolean {
  // If this counted as "does not match", a very long name could slip past a rule that takes rights away.
  if (text.length > maxPatternText) {
    throw new GatewayError(
      'IDENTITY_REFUSED',
      `a user, group or cluster name of more than ${maxPatternText} characters is not compared with the patterns of identity rules`,
    );
  }
  return pattern(text);
}

function readAnnotation(
  source: string,
  cluster: string,
  limits: IdentityRuleLimits,
): readonly IdentityRule[] | ConfigurationError {
  try {
    return parseClusterIdentityRules(source, cluster, limits);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    // Any other error of such an annotation: no rules apply to this cluster.
    return new ConfigurationError([{ file: 'annotation', message: 'the identity rules cannot be read' }]);
  }
}

function unusable(cluster: string, fault: ConfigurationError): GatewayError {
  return new GatewayError(
    'CLUSTER_UNUSABLE',
    `nobody is sent to cluster "${cluster}" because its identity rules cannot be used: ${fault.message}; mend or remove the annotation`,
    { cluster },
  );
}
