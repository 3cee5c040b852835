// Does one rule cover one request? RBAC's own evaluation (kubernetes:pkg/apis/rbac/v1/evaluation_helpers.go, rbac.go
// RuleAllows) after two fields of ours, subjects and clusters. "*" in verbs stands for the verbs known here; a verb
// that Kubernetes adds later must be listed literally.
import type { User } from '../../cache/model/user.ts';
import type { Attributes, AttributesCluster } from './attributes.ts';
import { accountUserName } from '../callers/reserved.ts';
import type { ClusterSelector, Rule, RuleSubject } from './rules.ts';

/**
 * What "*" in `verbs` stands for: resource verbs, `impersonate` included as in RBAC, and the HTTP verbs of non-resource
 * requests.
 */
export const knownVerbs: ReadonlySet<string> = new Set(
  'get list watch create update patch delete deletecollection proxy impersonate head post put options'.split(' '),
);

/** True when the rule allows the request. Every field given narrows; nothing here throws. */
export function ruleMatches(rule: Rule, attributes: Attributes): boolean {
  return (
    rule.subjects.some((subject) => subjectMatches(subject, attributes.user)) &&
    clusterMatches(rule, attributes.cluster) &&
    verbMatches(rule.verbs, attributes.verb) &&
    (attributes.resourceRequest ? resourceRuleMatches(rule, attributes) : urlMatches(rule.nonResourceURLs, attributes))
  );
}

/** As {@link ruleMatches} for a request about some type, leaving out namespace and name. */
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

/** A rule that names clusters covers requests to clusters only, never the gateway's own API. */
function clusterMatches(rule: Rule, cluster: AttributesCluster | undefined): boolean {
  const everyName = rule.clusters.length === 0 || rule.clusters.includes('*');
  if (cluster === undefined) return everyName && rule.clusterSelector === undefined;
  // A request for every cluster may begin when a rule allows it in some cluster. Then each cluster is checked by its
  // own name.
  if (cluster.name === '*') return true;
  if (!everyName && !rule.clusters.includes(cluster.name)) return false;
  return rule.clusterSelector === undefined || selectorMatches(rule.clusterSelector, cluster.labels);
}

/**
 * apimachinery's LabelSelectorAsSelector: all must hold; NotIn and DoesNotExist also hold where the label is missing.
 */
function selectorMatches(selector: ClusterSelector, labels: Readonly<Record<string, string>>): boolean {
  const label = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  if (!selector.matchLabels.every(([key, value]) => label(key) === value)) return false;
  return selector.matchExpressions.every(({ key, operator, values }) => {
    const value = label(key);
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    const listed = value !== undefined && values.includes(value);
    return operator === 'In' ? listed : !listed;
  });
}

function verbMatches(verbs: readonly string[], verb: string): boolean {
  if (verb === '') return false;
  return verbs.includes(verb) || (verbs.includes('*') && knownVerbs.has(verb));
}

/** "*" covers subresources too; "pods" does not cover "pods/log"; a star before "/scale" covers scale of everything. */
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
