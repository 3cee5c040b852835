// Reads cluster-gateway's ClusterGatewayProxyConfiguration from a file or a cluster's annotation. In cluster-gateway an
// invalid pattern matches everything, and an empty source matches everybody. Here one fault makes the whole document
// invalid (rule "fail closed, serve stale" in docs/rules.md).
import { z } from 'zod';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../model/errors.ts';
import { identityTextFault, makeUser } from '../../model/user.ts';
import { hasTooManyParts, mostParts } from '../../lib/yaml/yaml-parts.ts';
import type { User } from '../../model/user.ts';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import type { GoPattern } from '../../lib/text/go-pattern.ts';
import { compileGoPattern, PatternError } from '../../lib/text/go-pattern.ts';
import { refuseOwnNames } from '../callers/reserved.ts';

/** Annotation on a cluster-gateway Secret with rules for that cluster only. */
export const identityExchangeAnnotation = 'cluster.core.oam.dev/cluster-gateway-proxy-configuration';

/** Which users and clusters a rule matches. All fields that are set must match. */
export interface IdentitySource {
  readonly user: string | undefined;
  readonly group: string | undefined;
  readonly uid: string | undefined;
  readonly cluster: string | undefined;
  readonly userPattern: GoPattern | undefined;
  /** Matches a user if at least one of the user's groups matches the pattern. */
  readonly groupPattern: GoPattern | undefined;
  readonly clusterPattern: GoPattern | undefined;
}

/** Replaces users that match `source` by the identity `becomes`. */
export interface IdentityRule {
  /** Name of the rule for messages; '' when it has none. */
  readonly name: string;
  readonly source: IdentitySource;
  /** The identity that the member sees in place of a user that matches `source`. */
  readonly becomes: User;
}

/** Flags of the gateway that restrict which rules are accepted. */
export interface IdentityRuleLimits {
  /**
   * The user that PrivilegedIdentityExchanger rules impersonate. Undefined refuses such rules
   * (`--allow-privileged-identity`).
   */
  readonly privilegedUser: string | undefined;
  /**
   * Whether `--impersonation-mode=username` is set. Rules with groups or a uid in their target are then refused,
   * because only the name would be sent.
   */
  readonly usernameOnly: boolean;
}

const text = z.string().min(1, 'must not be empty');
const identityText = text.superRefine((value, issues) => {
  const fault = identityTextFault(value);
  if (fault !== undefined) issues.addIssue({ code: 'custom', message: fault });
});
const pattern = text.superRefine((value, issues) => {
  try {
    compileGoPattern(value);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    issues.addIssue({ code: 'custom', message: error.message });
  }
});

const source = z
  .strictObject({
    user: text.optional(),
    group: text.optional(),
    uid: text.optional(),
    cluster: text.optional(),
    userPattern: pattern.optional(),
    groupPattern: pattern.optional(),
    clusterPattern: pattern.optional(),
  })
  .refine((given) => Object.keys(given).length > 0, {
    error: 'names nobody; write group: "system:authenticated" to mean every user',
  });
const target = z.strictObject({
  user: identityText.optional(),
  groups: z.array(identityText).default([]),
  uid: identityText.optional(),
});

const rule = z.strictObject({
  name: z.string().default(''),
  type: z.enum(['PrivilegedIdentityExchanger', 'StaticMappingIdentityExchanger', 'ExternalIdentityExchanger']),
  source,
  target: target.optional(),
  url: z.string().optional(),
});
type GivenRule = z.output<typeof rule>;

/**
 * The zod schema of the document.
 * @param writtenIn an annotation may contain fewer kinds of rules than the gateway's file
 */
function documentSchema(limits: IdentityRuleLimits, writtenIn: 'file' | 'annotation') {
  return z.strictObject({
    apiVersion: z.literal('cluster.core.oam.dev/v1alpha1').optional(),
    kind: z.literal('ClusterGatewayProxyConfiguration').optional(),
    spec: z.strictObject({
      clientIdentityExchanger: z.strictObject({
        rules: z
          .array(
            rule.superRefine((given, issues) => {
              for (const [path, message] of faultsOf(given, limits, writtenIn))
                issues.addIssue({ code: 'custom', path: [...path], message });
            }),
          )
          .default([]),
      }),
    }),
  });
}

type RuleFault = readonly [path: readonly string[], message: string];

function faultsOf(
  given: GivenRule,
  limits: IdentityRuleLimits,
  writtenIn: 'file' | 'annotation',
): readonly RuleFault[] {
  const faults: RuleFault[] = [];
  if (given.type === 'ExternalIdentityExchanger') {
    return [
      [
        ['type'],
        'ExternalIdentityExchanger is not supported, because cluster-gateway never defined its protocol; remove the rule',
      ],
    ];
  }
  if (given.url !== undefined) faults.push([['url'], 'has no meaning for this type of rule']);
  if (given.type === 'PrivilegedIdentityExchanger') {
    if (writtenIn === 'annotation') {
      faults.push([['type'], "privileged rules are taken from the gateway's own file only (--identity-exchange)"]);
    } else if (limits.privilegedUser === undefined) {
      faults.push([['type'], 'needs --allow-privileged-identity and --privileged-user NAME']);
    }
    if (given.target !== undefined)
      faults.push([['target'], 'must be removed: a privileged rule always impersonates --privileged-user']);
    return faults;
  }
  if (given.target === undefined) return [...faults, [['target'], 'is missing: name the user to impersonate']];
  const { user, groups, uid } = given.target;
  if (user === undefined) {
    faults.push([['target', 'user'], 'is missing: an API server refuses groups or a uid without a user']);
  } else {
    try {
      refuseOwnNames({ name: user, groups });
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      faults.push([['target'], "names that begin with portcullis: are the gateway's own"]);
    }
  }
  if (limits.usernameOnly && groups.length > 0) {
    faults.push([['target', 'groups'], 'cannot be sent with --impersonation-mode=username']);
  }
  if (limits.usernameOnly && uid !== undefined) {
    faults.push([['target', 'uid'], 'cannot be sent with --impersonation-mode=username']);
  }
  return faults;
}

/**
 * Reads the rules of the gateway's own file (`--identity-exchange`).
 * @param file name of the file for messages
 * @throws ConfigurationError with every fault
 */
export function parseIdentityRules(source: string, file: string, limits: IdentityRuleLimits): readonly IdentityRule[] {
  return parse(source, file, limits, 'file');
}

/**
 * Reads the rules of a cluster's annotation. They apply to that cluster only: as in cluster-gateway, `source.cluster`
 * is overwritten with the cluster's name.
 * @throws ConfigurationError with every fault
 */
export function parseClusterIdentityRules(
  source: string,
  cluster: string,
  limits: IdentityRuleLimits,
): readonly IdentityRule[] {
  const rules = parse(source, `annotation ${identityExchangeAnnotation}`, limits, 'annotation');
  return rules.map((one) => Object.freeze({ ...one, source: { ...one.source, cluster } }));
}

function parse(
  source: string,
  file: string,
  limits: IdentityRuleLimits,
  writtenIn: 'file' | 'annotation',
): readonly IdentityRule[] {
  if (source.trim() === '') {
    const remedy = writtenIn === 'file' ? 'write "rules: []" to have none' : 'remove it to have none';
    throw new ConfigurationError([{ file, message: `is empty; ${remedy}` }]);
  }
  // Only annotations are limited, because anybody who may edit the cluster's object can write them. The operator's own
  // file may be long.
  if (writtenIn === 'annotation' && hasTooManyParts(source)) {
    throw new ConfigurationError([{ file, message: `has more than ${mostParts} lines or entries` }]);
  }
  const read = readYaml(source, file, documentSchema(limits, writtenIn));
  if ('faults' in read) throw new ConfigurationError(read.faults);
  return Object.freeze(read.value.spec.clientIdentityExchanger.rules.map((given) => toRule(given, limits)));
}

function toRule(given: GivenRule, limits: IdentityRuleLimits): IdentityRule {
  const { user, group, uid, cluster, userPattern, groupPattern, clusterPattern } = given.source;
  const compiled = (written: string | undefined): GoPattern | undefined =>
    written === undefined ? undefined : compileGoPattern(written);
  // faultsOf() has checked that there is a user name; makeUser would throw for an empty one.
  const becomes =
    given.type === 'PrivilegedIdentityExchanger'
      ? { name: limits.privilegedUser ?? '' }
      : { name: given.target?.user ?? '', uid: given.target?.uid ?? '', groups: given.target?.groups ?? [] };
  return Object.freeze({
    name: given.name,
    source: Object.freeze({
      user,
      group,
      uid,
      cluster,
      userPattern: compiled(userPattern),
      groupPattern: compiled(groupPattern),
      clusterPattern: compiled(clusterPattern),
    }),
    becomes: makeUser(becomes),
  });
}
