// Checks one entry of `jwt` in an AuthenticationConfiguration by kube-apiserver's rules
// (apiserver:pkg/apis/apiserver/validation/validation.go), after its shape was checked. A file that kube-apiserver
// accepts is accepted here too, except where a message names a limit of this gateway.
import { X509Certificate } from 'node:crypto';
import type { AuthenticatorInput } from './authenticator-schema.ts';
import { ExpressionError, readExpression } from './claim-expression.ts';
import type { ClaimExpression, ExpressionSubject } from './claim-expression.ts';
import type { IssuerAddress } from './issuer-keys.ts';

/** Records a fault at a path in the document. */
export type Report = (path: readonly (string | number)[], message: string) => void;

/** How one part of the user is derived: from a claim with a prefix, or by a CEL expression. */
export type Mapping =
  | { readonly claim: string; readonly prefix: string; readonly expression?: undefined }
  | { readonly expression: ClaimExpression; readonly claim?: undefined };

/** A CEL expression that must be true for the token to be accepted. */
export interface ExpressionRule {
  readonly expression: ClaimExpression;
  /** The operator's message for callers whose token fails the expression; '' for none. */
  readonly message: string;
}

/** One identity provider, and how its tokens are turned into users. */
export interface JwtAuthenticatorConfig {
  readonly issuer: IssuerAddress;
  /** A token must have at least one of these audiences. */
  readonly audiences: readonly string[];
  readonly username: Mapping;
  readonly groups: Mapping | undefined;
  readonly uid: Mapping | undefined;
  readonly extra: readonly { readonly key: string; readonly expression: ClaimExpression }[];
  readonly requiredClaims: readonly { readonly claim: string; readonly value: string }[];
  readonly claimRules: readonly ExpressionRule[];
  readonly userRules: readonly ExpressionRule[];
}

type Path = readonly (string | number)[];

/** Checks one entry of `jwt`. Undefined when it has a fault, which was passed to `reportTo`. */
export function checkAuthenticator(
  input: AuthenticatorInput,
  path: Path,
  reportTo: Report,
): JwtAuthenticatorConfig | undefined {
  let faults = 0;
  const report: Report = (at, message) => {
    faults += 1;
    reportTo(at, message);
  };
  const audiences = input.issuer.audiences ?? [];
  checkIssuer(input.issuer, audiences, [...path, 'issuer'], report);
  const rules = checkClaimRules(input.claimValidationRules ?? [], [...path, 'claimValidationRules'], report);
  const mappings = checkMappings(input.claimMappings, [...path, 'claimMappings'], report);
  const userRules = checkUserRules(input.userValidationRules ?? [], [...path, 'userValidationRules'], report);
  const { username } = mappings;
  const verifying = [
    ...rules.claimRules,
    ...mappings.extra,
    ...(username?.expression === undefined ? [] : [{ expression: username.expression }]),
  ];
  if (
    username?.expression?.names.has('email') === true &&
    !verifying.some(({ expression }) => expression.names.has('email_verified'))
  ) {
    report(
      [...path, 'claimMappings', 'username', 'expression'],
      'claims.email_verified must be used here, in extra[*].valueExpression or in claimValidationRules[*].expression when claims.email is used',
    );
  }
  if (faults > 0 || username === undefined) return undefined;
  const { url, discoveryURL, certificateAuthority } = input.issuer;
  return {
    issuer: { url, discoveryUrl: given(discoveryURL), certificateAuthority: given(certificateAuthority) },
    audiences,
    ...mappings,
    username,
    ...rules,
    userRules,
  };
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function checkIssuer(
  issuer: AuthenticatorInput['issuer'],
  audiences: readonly string[],
  path: Path,
  report: Report,
): void {
  const { url, discoveryURL = '', certificateAuthority = '', egressSelectorType = '' } = issuer;
  checkUrl(url, [...path, 'url'], report);
  if (discoveryURL !== '') {
    checkUrl(discoveryURL, [...path, 'discoveryURL'], report);
    if (url.replace(/\/+$/, '') === discoveryURL.replace(/\/+$/, ''))
      report([...path, 'discoveryURL'], 'must be different from url');
  }
  if (certificateAuthority !== '' && !isPem(certificateAuthority))
    report([...path, 'certificateAuthority'], 'is not a PEM bundle of certificates');
  checkAudiences(audiences, issuer.audienceMatchPolicy ?? '', path, report);
  if (egressSelectorType === 'controlplane' || egressSelectorType === 'cluster') {
    report(
      [...path, 'egressSelectorType'],
      'this gateway has no egress selector: it asks the provider from where it runs; remove the field',
    );
  } else if (egressSelectorType !== '') report([...path, 'egressSelectorType'], 'must be controlplane or cluster');
}

function checkAudiences(audiences: readonly string[], matchPolicy: string, path: Path, report: Report): void {
  if (audiences.length === 0) report([...path, 'audiences'], 'at least one audience is needed');
  for (const [i, audience] of audiences.entries()) {
    if (audience === '') report([...path, 'audiences', i], 'is empty');
    else if (audiences.indexOf(audience) < i) report([...path, 'audiences', i], 'is a duplicate');
  }
  if (audiences.length > 1 && matchPolicy !== 'MatchAny')
    report([...path, 'audienceMatchPolicy'], 'must be MatchAny for multiple audiences');
  if (audiences.length <= 1 && matchPolicy !== '' && matchPolicy !== 'MatchAny')
    report([...path, 'audienceMatchPolicy'], 'must be empty or MatchAny for a single audience');
}

function checkUrl(text: string, path: Path, report: Report): void {
  if (text === '') return report(path, 'is missing');
  const url = URL.parse(text);
  if (url === null) return report(path, 'is not a URL');
  if (url.protocol !== 'https:') report(path, 'URL scheme must be https');
  if (url.username !== '' || url.password !== '') report(path, 'URL must not contain a username or password');
  if (url.search !== '') report(path, 'URL must not contain a query');
  if (url.hash !== '') report(path, 'URL must not contain a fragment');
}

function isPem(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  try {
    return blocks.length > 0 && blocks.every((block) => new X509Certificate(block).subject !== undefined);
  } catch {
    return false;
  }
}

function expressionOf(
  source: string,
  subject: ExpressionSubject,
  path: Path,
  report: Report,
): ClaimExpression | undefined {
  try {
    return readExpression(source, subject);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    report(path, error.message);
    return undefined;
  }
}

/** Parses an expression that must have type bool for every input, as kube-apiserver's compiler requires. */
function ruleOf(
  { expression: source, message = '' }: { readonly expression: string; readonly message?: string | undefined },
  subject: ExpressionSubject,
  path: Path,
  report: Report,
): ExpressionRule[] {
  const expression = expressionOf(source, subject, path, report);
  if (expression === undefined) return [];
  if (!expression.isBoolean) {
    report(path, 'must evaluate to bool; compare what may be something else, for example with == true');
    return [];
  }
  return [{ expression, message }];
}

function checkClaimRules(
  rules: NonNullable<AuthenticatorInput['claimValidationRules']>,
  path: Path,
  report: Report,
): Pick<JwtAuthenticatorConfig, 'requiredClaims' | 'claimRules'> {
  const requiredClaims: { claim: string; value: string }[] = [];
  const claimRules: ExpressionRule[] = [];
  const seen = new Set<string>();
  for (const [i, { claim = '', requiredValue = '', expression = '', message = '' }] of rules.entries()) {
    const at = [...path, i];
    if (claim !== '' && expression !== '') report(at, "claim and expression can't both be set");
    else if (claim === '' && expression === '') report(at, 'claim or expression is required');
    else if (claim !== '') {
      if (message !== '') report([...at, 'message'], 'may not be specified when claim is set');
      if (seen.has(`claim ${claim}`)) report([...at, 'claim'], 'is required by an earlier rule');
      seen.add(`claim ${claim}`);
      requiredClaims.push({ claim, value: requiredValue });
    } else {
      if (requiredValue !== '') report([...at, 'requiredValue'], 'may not be specified when expression is set');
      if (seen.has(`expression ${expression}`)) report([...at, 'expression'], 'repeats an earlier rule');
      else claimRules.push(...ruleOf({ expression, message }, 'claims', [...at, 'expression'], report));
      seen.add(`expression ${expression}`);
    }
  }
  return { requiredClaims, claimRules };
}

function checkUserRules(
  rules: NonNullable<AuthenticatorInput['userValidationRules']>,
  path: Path,
  report: Report,
): readonly ExpressionRule[] {
  const seen = new Set<string>();
  return rules.flatMap(({ expression = '', message }, i) => {
    const at = [...path, i, 'expression'];
    if (expression === '' || seen.has(expression)) {
      report(at, expression === '' ? 'is missing' : 'repeats an earlier rule');
      return [];
    }
    seen.add(expression);
    return ruleOf({ expression, message }, 'user', at, report);
  });
}

function checkMappings(
  mappings: AuthenticatorInput['claimMappings'],
  path: Path,
  report: Report,
): Pick<JwtAuthenticatorConfig, 'groups' | 'uid' | 'extra'> & { readonly username: Mapping | undefined } {
  const { username, groups, uid, extra = [] } = mappings;
  if (!isGiven(username)) report([...path, 'username'], 'claim or expression is required');
  return {
    username: checkMapping(username, [...path, 'username'], report),
    groups: groups === undefined ? undefined : checkMapping(groups, [...path, 'groups'], report),
    // A uid mapping has no prefix field, but checkMapping requires one.
    uid:
      uid === undefined
        ? undefined
        : checkMapping(isGivenText(uid.claim) ? { ...uid, prefix: '' } : uid, [...path, 'uid'], report),
    extra: checkExtra(extra, [...path, 'extra'], report),
  };
}

interface MappingInput {
  readonly claim?: string | undefined;
  readonly prefix?: string | undefined;
  readonly expression?: string | undefined;
}

function isGivenText(text: string | undefined): boolean {
  return text !== undefined && text !== '';
}

function isGiven({ claim, expression }: MappingInput): boolean {
  return isGivenText(claim) || isGivenText(expression);
}

function checkMapping(input: MappingInput, path: Path, report: Report): Mapping | undefined {
  const { claim = '', prefix, expression = '' } = input;
  if (claim !== '' && expression !== '') {
    report(path, "claim and expression can't both be set");
    return undefined;
  }
  if (expression !== '') {
    if (prefix !== undefined) report([...path, 'prefix'], 'may not be specified when expression is set');
    const read = expressionOf(expression, 'claims', [...path, 'expression'], report);
    return read === undefined ? undefined : { expression: read };
  }
  if (claim === '') return undefined;
  if (prefix === undefined) {
    report([...path, 'prefix'], 'is required when claim is set; it can be set to an empty string to disable prefixing');
    return undefined;
  }
  return { claim, prefix };
}

const domain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** Characters of a path in RFC 3986, as utilvalidation.IsDomainPrefixedPath accepts them. */
const pathCharacters = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;
const kubernetesDomain = /(?:^|\.)(?:kubernetes|k8s)\.io$/;

function checkExtra(
  extra: NonNullable<AuthenticatorInput['claimMappings']['extra']>,
  path: Path,
  report: Report,
): JwtAuthenticatorConfig['extra'] {
  const seen = new Set<string>();
  return extra.flatMap(({ key, valueExpression = '' }, i) => {
    const at = [...path, i, 'key'];
    const slash = key.indexOf('/');
    const host = slash < 0 ? '' : key.slice(0, slash);
    if (host.length > 253 || !domain.test(host) || !pathCharacters.test(key.slice(slash + 1)))
      report(at, 'must be a domain-prefixed path (such as "acme.io/foo")');
    if (key !== key.toLowerCase()) report(at, 'must be lowercase');
    if (kubernetesDomain.test(host))
      report(at, 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use');
    if (seen.has(key)) report(at, 'is a duplicate');
    seen.add(key);
    if (valueExpression === '') {
      report([...path, i, 'valueExpression'], 'is missing');
      return [];
    }
    const expression = expressionOf(valueExpression, 'claims', [...path, i, 'valueExpression'], report);
    return expression === undefined ? [] : [{ key, expression }];
  });
}
