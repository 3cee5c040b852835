// Checks whether one authorization rule covers one request: first by the fields `subjects` and `clusters`, which RBAC
// rules do not have, then by RBAC's own evaluation (kubernetes:pkg/apis/rbac/v1/evaluation_helpers.go, rbac.go
// RuleAllows). "*" in verbs stands for the verbs listed in this file; a verb that Kubernetes adds later must be written
// out in a rule.
import { selectorMatches } from '../../lib/objects/label-selector.ts';
import type { User } from '../../model/user.ts';
import type { Attributes, AttributesCluster } from './attributes.ts';
import { accountUserName } from '../callers/reserved.ts';
import type { Rule, RuleSubject } from './rules.ts';

/**
 * The verbs that "*" in `verbs` stands for: resource verbs, including `impersonate` as in RBAC, and the HTTP verbs of
 * non-resource requests.
 */
export const knownVerbs: ReadonlySet<string> = new Set(
  'get list watch create update patch delete deletecollection proxy impersonate head post put options'.split(' '),
);

/** Whether the rule allows the request. Each field that the rule sets must match. Never throws. */
export function ruleMatches(rule: Rule, attributes: Attributes): boolean {
  return (
    rule.subjects.some((subject) => subjectMatches(subject, attributes.user)) &&
    clusterMatches(rule, attributes.cluster) &&
    verbMatches(rule.verbs, attributes.verb) &&
    (attributes.resourceRequest ? resourceRuleMatches(rule, attributes) : urlMatches(rule.nonResourceURLs, attributes))
  );
}

/**
 * Whether the rule allows the request for any object of its type: as {@link ruleMatches}, but namespaces and names are
 * ignored.
 */
export function ruleConcerns(rule: Rule, attributes: Attributes): boolean {
  return (
    rule.subjects.some((subject) => subjectMatches(subject, attributes.user)) &&
    clusterMatches(rule, attributes.cluster) &&
    verbMatches(rule.verbs, attributes.verb) &&
    typeMatches(rule, attributes)
  );
}

function typeMatches(rule: Rule, attributes: Attributes): boolean {
  return (
    (rule.apiGroups.includes('*') || rule.apiGroups.includes(attributes.apiGroup)) &&
    resourceMatches(rule.resources, attributes.resource, attributes.subresource)
  );
}

function resourceRuleMatches(rule: Rule, attributes: Attributes): boolean {
  return (
    typeMatches(rule, attributes) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(attributes.name)) &&
    (rule.namespaces.length === 0 || rule.namespaces.includes(attributes.namespace))
  );
}

function subjectMatches(subject: RuleSubject, user: User): boolean {
  if (subject.kind === 'ServiceAccount') return user.name === accountUserName(subject);
  return subject.kind === 'User' ? user.name === subject.name : user.groups.includes(subject.name);
}

/** Whether the rule covers the cluster. A rule that selects clusters never covers the gateway's own API. */
function clusterMatches(rule: Rule, cluster: AttributesCluster | undefined): boolean {
  const everyName = rule.clusters.length === 0 || rule.clusters.includes('*');
  if (cluster === undefined) return everyName && rule.clusterSelector === undefined;
  // The cluster name "*" stands for a fan-out request to every cluster. Such a request may begin if a rule allows it
  // for any cluster; later each cluster is checked by its own name.
  if (cluster.name === '*') return true;
  if (!everyName && !rule.clusters.includes(cluster.name)) return false;
  return rule.clusterSelector === undefined || selectorMatches(rule.clusterSelector, cluster.labels);
}

function verbMatches(verbs: readonly string[], verb: string): boolean {
  if (verb === '') return false;
  return verbs.includes(verb) || (verbs.includes('*') && knownVerbs.has(verb));
}

/**
 * Whether a rule's resources cover the request. "*" includes subresources, "pods" does not include "pods/log", and "*"
 * + "/scale" covers the scale subresource of everything.
 */
function resourceMatches(resources: readonly string[], resource: string, subresource: string): boolean {
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (item) => item === '*' || item === combined || (subresource !== '' && item === `*/${subresource}`),
  );
}

function urlMatches(urls: readonly string[], { path }: Attributes): boolean {
  return urls.some(
    (url) => url === '*' || url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, ''))),
  );
}
