// Finds weaknesses in the files that say who users are and what they may do. Security: a finding about a token names
// the user and never the token.
import type { AuthenticationConfig } from '../../auth/jwt/authentication-config.ts';
import type { AuthorizationRules, Rule } from '../../auth/rules/rules.ts';
import type { TokenFile } from '../../auth/callers/static-token.ts';
import { anonymousWeakness } from './settings.ts';
import type { Weakness } from './weakness.ts';

/**
 * A token with fewer characters than this is reported as easy to guess. Twenty characters of base64 are about 120 bits;
 * the output of `openssl rand -hex 16` is longer.
 */
const shortestToken = 20;

/** Finds tokens that can be guessed, and users whom RBAC does not limit (`system:masters`). */
export function tokenFileWeaknesses({ entries, warnings }: TokenFile, file: string): readonly Weakness[] {
  const found: Weakness[] = [];
  for (const { token, user } of entries) {
    if (token.length < shortestToken || new Set(token).size < 8) {
      found.push({
        name: 'GuessableToken',
        severity: 'high',
        where: `${file}: user "${user.name}"`,
        what: 'the token is short or made of few characters, and can be guessed',
        fix: 'Replace it, for example with the output of: openssl rand -hex 32',
      });
    }
    if (user.groups.includes('system:masters')) found.push(superuser(`${file}: user "${user.name}"`));
  }
  for (const warning of warnings) {
    found.push({
      name: 'OddTokenRecord',
      severity: 'low',
      where: file,
      what: warning,
      fix: 'Remove the record, or give it a token of its own.',
    });
  }
  return found;
}

function superuser(where: string): Weakness {
  return {
    name: 'SuperuserToken',
    severity: 'high',
    where,
    what: 'is in system:masters, which every cluster lets do anything, past all RBAC',
    fix: 'Use a group of your own and bind it to cluster-admin in the clusters where it is wanted.',
  };
}

/** Finds anonymous access, and identity providers whose user names can be the same as those of another provider. */
export function authenticationWeaknesses({ anonymous, jwt }: AuthenticationConfig, file: string): readonly Weakness[] {
  const found: Weakness[] = [];
  if (anonymous?.enabled === true) found.push(anonymousWeakness(`${file}: anonymous`, anonymous.paths));
  for (const [index, { username, groups }] of jwt.entries()) {
    for (const [field, mapping] of [
      ['username', username],
      ['groups', groups],
    ] as const) {
      if (mapping?.claim === undefined || mapping.prefix !== '') continue;
      found.push({
        name: 'UnprefixedIdentity',
        severity: 'low',
        where: `${file}: jwt[${index}].claimMappings.${field}`,
        what: `${field} of this provider have no prefix: who can choose a name there can be a user or group of another provider, or of a cluster's own RBAC`,
        fix: `Set prefix, for example "oidc:", and bind roles to the prefixed names.`,
      });
    }
  }
  return found;
}

const everybody: ReadonlySet<string> = new Set(['system:authenticated', '*']);
const nobody: ReadonlySet<string> = new Set(['system:unauthenticated', 'system:anonymous']);

/** Finds authorization rules that allow too much. */
export function rulesWeaknesses({ rules, file }: AuthorizationRules): readonly Weakness[] {
  return rules.flatMap((rule, index) => {
    const where = `${file}: rules[${index}]`;
    const found: Weakness[] = [];
    const names = rule.subjects.map(({ name }) => name);
    if (names.some((name) => everybody.has(name)) && allowsEverything(rule)) {
      found.push({
        name: 'EverybodyEverywhere',
        severity: 'medium',
        where,
        what: 'every user who can log in may do everything in every cluster, as if there were no rules',
        fix: 'Name groups, clusters or verbs.',
      });
    }
    if (names.some((name) => nobody.has(name))) {
      found.push({
        name: 'RuleForAnonymous',
        severity: 'high',
        where,
        what: 'is for those who did not log in',
        fix: 'Remove system:anonymous and system:unauthenticated from its subjects.',
      });
    }
    if (readsSecretsEverywhere(rule)) {
      found.push({
        name: 'ClusterWideSecrets',
        severity: 'medium',
        where,
        what: `names secrets in every namespace and under every name${rule.clusters.length === 0 && rule.clusterSelector === undefined ? ', in every cluster' : ''}: ServiceAccount tokens and passwords of others are among them`,
        fix: 'Add namespaces or resourceNames, or leave secrets out.',
      });
    }
    if (rule.verbs.includes('impersonate') && rule.resourceNames.length === 0) {
      found.push({
        name: 'ImpersonateAnybody',
        severity: 'high',
        where,
        what: 'lets its subjects be anybody (kubectl --as), at the gateway and in its clusters',
        fix: 'Add resourceNames: the users or groups that may be impersonated.',
      });
    }
    return found;
  });
}

function allowsEverything({ verbs, apiGroups, resources, namespaces, resourceNames, ...rule }: Rule): boolean {
  const isWide = [verbs, apiGroups, resources].every((list) => list.includes('*'));
  const everyCluster =
    rule.clusterSelector === undefined && (rule.clusters.length === 0 || rule.clusters.includes('*'));
  return isWide && everyCluster && namespaces.length === 0 && resourceNames.length === 0;
}

/**
 * Whether a rule names the resource `secrets` and allows to read all of them. Rules with `*` are not reported: the
 * clusters' own RBAC limits their users as well, and almost every rule would be reported.
 */
function readsSecretsEverywhere({ verbs, resources, namespaces, resourceNames }: Rule): boolean {
  const reads = verbs.some((verb) => ['*', 'get', 'list', 'watch'].includes(verb));
  return reads && resources.includes('secrets') && namespaces.length === 0 && resourceNames.length === 0;
}
