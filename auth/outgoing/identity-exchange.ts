// Exchanges the identity of a user before a request goes to a cluster, as cluster-gateway does. Rules in the cluster's
// annotation are tried first, then those in the gateway's file; the first match decides, and without a match the
// identity stays. If a cluster's annotation cannot be read, requests to that cluster are refused: with the file's rules
// alone, users could get more rights than the annotation would have given them.
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import type { User } from '../../model/user.ts';
import { maxPatternText } from '../../lib/text/go-pattern.ts';
import type { GoPattern } from '../../lib/text/go-pattern.ts';
import { parseClusterIdentityRules } from './identity-rules.ts';
import type { IdentityRule, IdentityRuleLimits, IdentitySource } from './identity-rules.ts';

/**
 * The parts of a cluster record that the exchange uses. Pass the record's own `spec` object, because parsed rules are
 * cached by it.
 */
export type ExchangeCluster = Pick<ClusterSpec, 'name' | 'identityExchange'>;

/** Decides, by identity rules, which identity replaces a user in a cluster. */
export interface IdentityExchange {
  /** Whether any rule could apply to this cluster. False lets the caller cache one result for all such clusters. */
  concerns(cluster: ExchangeCluster): boolean;
  /**
   * The identity that replaces the user; undefined when no rule matches.
   * @throws GatewayError CLUSTER_UNUSABLE when the cluster's annotation is not valid, IDENTITY_REFUSED for a name that
   *   is too long to be compared with a pattern
   */
  exchange(user: User, cluster: ExchangeCluster): User | undefined;
  /**
   * What is wrong with the cluster's annotation, for the cluster's conditions; undefined when it is valid or missing.
   */
  fault(cluster: ExchangeCluster): string | undefined;
}

/**
 * Makes an {@link IdentityExchange}.
 * @param rules the rules of the gateway's file; empty when there is no file
 */
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
 * The first rule that matches this user and cluster.
 * @throws GatewayError IDENTITY_REFUSED for a name that is too long to be compared with a pattern
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
  // If a long name counted as no match, a user with such a name could avoid a rule that takes rights away.
  if (text.length > maxPatternText) {
    throw new GatewayError(
      'IDENTITY_REFUSED',
      `a user, group or cluster name is longer than ${maxPatternText} characters, the most that identity rules can match; use a shorter name`,
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
    // An unexpected error counts as invalid rules too, so that requests to the cluster are refused.
    return new ConfigurationError([{ file: 'annotation', message: 'the identity rules cannot be read' }]);
  }
}

function unusable(cluster: string, fault: ConfigurationError): GatewayError {
  return new GatewayError(
    'CLUSTER_UNUSABLE',
    `no request is sent to cluster "${cluster}" because its identity rules are not valid: ${fault.message}; correct or remove the annotation`,
    { cluster },
  );
}
