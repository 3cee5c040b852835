// Users that a front proxy vouches for: an aggregating API server that sends the caller in headers, by kube-apiserver's
// rules (apiserver:pkg/authentication/request/headerrequest, x509.Verifier). The headers count only on a connection
// whose certificate is signed by the front proxies' own authority now and has an allowed name. That authority is not
// the one for users.
import { GatewayError } from '../../cache/model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import { makeUser } from '../../cache/model/user.ts';
import type { User } from '../../cache/model/user.ts';
import type { Authenticator } from './authenticate.ts';
import type { Certificate } from '../x509/certificate.ts';
import { decodeHeaderText, unescapeHeaderKey } from './header-values.ts';
import { makeCertificateJudge } from '../x509/presented-certificate.ts';
import type { CertificateJudge } from '../x509/presented-certificate.ts';

/** Which front proxies are trusted, and with which headers. */
export interface FrontProxyTrust {
  /** PEM bundle of the authorities that sign front proxies. */
  readonly caPem: string;
  /** Common names; an empty list allows every certificate of those authorities. */
  readonly allowedNames: readonly string[];
  /** Header names, lower case; the first that has a value names the user. */
  readonly usernameHeaders: readonly string[];
  /**
   * As `usernameHeaders`; an empty list means that no uid is read (an old API server lets callers send one of their
   * own).
   */
  readonly uidHeaders: readonly string[];
  /** Every value of each is a group. */
  readonly groupHeaders: readonly string[];
  /** What follows such a prefix in a header's name is the percent-escaped key of an extra. Lower case. */
  readonly extraPrefixes: readonly string[];
}

/** The ConfigMap in which every API server publishes its trust. */
export const authenticationConfigMap = {
  namespace: 'kube-system',
  name: 'extension-apiserver-authentication',
} as const;

/**
 * Reads the front proxy's part of that ConfigMap's data; undefined when it names no authority, so that no front proxy
 * is trusted.
 * @throws GatewayError INVALID naming the key that cannot be used
 */
export function parseFrontProxyTrust(data: Readonly<Record<string, unknown>>): FrontProxyTrust | undefined {
  const caPem = data['requestheader-client-ca-file'];
  if (caPem === undefined) return undefined;
  if (typeof caPem !== 'string') throw invalid('requestheader-client-ca-file', 'is not text');
  return {
    caPem,
    allowedNames: textList(data, 'requestheader-allowed-names'),
    usernameHeaders: headerNames(data, 'requestheader-username-headers'),
    uidHeaders: headerNames(data, 'requestheader-uid-headers'),
    groupHeaders: headerNames(data, 'requestheader-group-headers'),
    extraPrefixes: headerNames(data, 'requestheader-extra-headers-prefix'),
  };
}

/** An authenticator whose trust can be swapped while requests run. */
export interface RequestHeaderAuthenticator {
  readonly authenticate: Authenticator;
  /**
   * Counts from the next request, on old connections, too; undefined trusts no front proxy.
   * @throws GatewayError INVALID when the bundle cannot be read; the old trust stays
   */
  replace(trust: FrontProxyTrust | undefined): void;
}

const bundleName = 'requestheader-client-ca-file';
const rememberedUsers = 10_000;
/** Longer header lists are read anew every time, so that memory is bounded. */
const rememberedLength = 16 * 1024;

/**
 * Makes one that trusts no front proxy yet.
 * @param now Unix milliseconds
 */
export function makeRequestHeaderAuthenticator(now: () => number = Date.now): RequestHeaderAuthenticator {
  let current: CurrentTrust | undefined;
  // The same callers come again and again. Each has one user object, so that decisions remembered for it are found
  // again.
  const users = makeRecent<User>({ maxEntries: rememberedUsers });
  return {
    authenticate: ({ rawHeaders, peerCertificates }) => {
      if (current === undefined || peerCertificates.length === 0) return undefined;
      const { trust, judge, claim } = current;
      const { sent, key } = claim(rawHeaders);
      // Without such headers it may be a caller with a certificate of its own.
      if (sent.length === 0) return undefined;
      const { commonName } = believable(judge, peerCertificates);
      if (trust.allowedNames.length > 0 && !trust.allowedNames.includes(commonName)) {
        throw new GatewayError('UNAUTHENTICATED', 'the certificate is not one of an allowed front proxy');
      }
      const known = users.get(key);
      if (known !== undefined) return known;
      const user = readUser(sent, trust);
      if (user !== undefined && key.length <= rememberedLength) users.set(key, user);
      return user;
    },
    replace: (trust) => {
      const judge = trust && makeCertificateJudge({ caPem: trust.caPem, caFile: bundleName, now });
      users.clear();
      current = trust && { trust, judge: judge!, claim: claimReader(trust) };
    },
  };
}

interface CurrentTrust {
  readonly trust: FrontProxyTrust;
  readonly judge: CertificateJudge;
  /** What a header list claims; it counts only once the certificate has been accepted. */
  readonly claim: (rawHeaders: readonly string[]) => Claim;
}

/** What was sent about a caller. */
interface Claim {
  /** Flat list of the headers that may describe the caller, names in lower case. */
  readonly sent: readonly string[];
  /** Equal for equal `sent` only. */
  readonly key: string;
}

const rememberedNames = 512;

/** Names of headers depend on the trust, so each trust has a reader of its own. */
function claimReader(trust: FrontProxyTrust): CurrentTrust['claim'] {
  // By header name as received: the name in lower case, or '' when it does not describe a caller. Bounded.
  const names = new Map<string, string>();
  return readOnce((rawHeaders) => {
    const sent = identityHeaders(rawHeaders, trust, names);
    return { sent, key: keyOf(sent) };
  });
}

function identityHeaders(
  rawHeaders: readonly string[],
  trust: FrontProxyTrust,
  names: Map<string, string>,
): readonly string[] {
  const sent: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const received = rawHeaders[index]!;
    let name = names.get(received);
    if (name === undefined) {
      const lower = received.toLowerCase();
      name = isIdentityHeader(lower, trust) ? lower : '';
      if (names.size < rememberedNames && received.length <= 64) names.set(received, name);
    }
    if (name !== '') sent.push(name, rawHeaders[index + 1]!);
  }
  return sent;
}

function believable(judge: CertificateJudge, presented: readonly Uint8Array[]): Certificate {
  try {
    return judge.judge(presented);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError(error.code, `no front proxy is speaking: ${error.message}`);
  }
}

function isIdentityHeader(lower: string, trust: FrontProxyTrust): boolean {
  return (
    trust.usernameHeaders.includes(lower) ||
    trust.groupHeaders.includes(lower) ||
    trust.uidHeaders.includes(lower) ||
    trust.extraPrefixes.some((prefix) => lower.startsWith(prefix))
  );
}

/** Writes the length before each part, so that no two lists share a key. */
function keyOf(sent: readonly string[]): string {
  let key = '';
  for (const text of sent) key += `${text.length}:${text}`;
  return key;
}

/** @throws GatewayError UNAUTHENTICATED for values that are no UTF-8, IDENTITY_REFUSED from makeUser */
function readUser(sent: readonly string[], trust: FrontProxyTrust): User | undefined {
  const name = firstValue(sent, trust.usernameHeaders);
  if (name === '') return undefined;
  const groups = trust.groupHeaders.flatMap((header) => valuesOf(sent, header)).filter((group) => group !== '');
  const extra = new Map<string, string[]>();
  for (const prefix of trust.extraPrefixes) {
    for (let index = 0; index < sent.length; index += 2) {
      const header = sent[index]!;
      if (!header.startsWith(prefix)) continue;
      const key = unescapeHeaderKey(header.slice(prefix.length))?.toLowerCase();
      if (key === undefined) throw notUtf8(header);
      const value = textOf(header, sent[index + 1]!);
      const values = extra.get(key);
      if (values === undefined) extra.set(key, [value]);
      else values.push(value);
    }
  }
  return makeUser({ name, uid: firstValue(sent, trust.uidHeaders), groups, extra, origin: 'hub' });
}

/**
 * Of each header only the first line counts; the first header whose first line is not empty decides (Go's Header.Get in
 * a loop).
 */
function firstValue(sent: readonly string[], headers: readonly string[]): string {
  for (const header of headers) {
    const [value = ''] = valuesOf(sent, header);
    if (value !== '') return value;
  }
  return '';
}

function valuesOf(sent: readonly string[], header: string): string[] {
  const values: string[] = [];
  for (let index = 0; index < sent.length; index += 2) {
    if (sent[index] === header) values.push(textOf(header, sent[index + 1]!));
  }
  return values;
}

function textOf(header: string, latin1: string): string {
  const text = decodeHeaderText(latin1);
  if (text === undefined) throw notUtf8(header);
  return text;
}

function notUtf8(header: string): GatewayError {
  return new GatewayError('UNAUTHENTICATED', `the front proxy's header ${JSON.stringify(header)} is not valid UTF-8`);
}

/** A JSON list of texts; absent or empty text is an empty list. */
function textList(data: Readonly<Record<string, unknown>>, key: string): readonly string[] {
  const text = data[key];
  if (text === undefined || text === '') return [];
  let list: unknown;
  try {
    list = JSON.parse(String(text));
  } catch {
    throw invalid(key, 'is not JSON');
  }
  if (!Array.isArray(list) || !list.every((one) => typeof one === 'string'))
    throw invalid(key, 'is not a list of strings');
  return list;
}

/** An empty prefix would make every header an extra. */
function headerNames(data: Readonly<Record<string, unknown>>, key: string): readonly string[] {
  const names = textList(data, key).map((name) => name.trim().toLowerCase());
  if (names.includes('')) throw invalid(key, 'holds an empty header name');
  return names;
}

function invalid(key: string, what: string): GatewayError {
  const { namespace, name } = authenticationConfigMap;
  return new GatewayError('INVALID', `ConfigMap ${namespace}/${name}: ${key} ${what}`);
}
