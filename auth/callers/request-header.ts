// Authenticates users named by a front proxy: an aggregating API server that sends the user in headers, by
// kube-apiserver's rules (apiserver:pkg/authentication/request/headerrequest, x509.Verifier). Easy to get wrong: the
// headers may be trusted only if the connection's client certificate is signed by the front proxies' authority (not the
// one for users), is still valid, and has an allowed name. Otherwise any client could name itself an administrator.
import { GatewayError } from '../../model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import type { Authenticator } from './authenticate.ts';
import type { Certificate } from '../x509/certificate.ts';
import { decodeHeaderText, unescapeHeaderKey } from './header-values.ts';
import { makeCertificateJudge } from '../x509/presented-certificate.ts';
import type { CertificateJudge } from '../x509/presented-certificate.ts';

/** Which front proxies are trusted, and which headers they use. */
export interface FrontProxyTrust {
  /** PEM bundle of the certificate authorities that sign certificates of front proxies. */
  readonly caPem: string;
  /** Allowed common names; an empty list allows every certificate that the authorities in `caPem` have signed. */
  readonly allowedNames: readonly string[];
  /** Header names in lower case. The first of these headers that has a value is the user name. */
  readonly usernameHeaders: readonly string[];
  /**
   * Header names in lower case. The first of these headers that has a value is the uid. An empty list means that no uid
   * is read: an API server that is too old to set such a header would pass on the one that its client has sent, and the
   * client could choose any uid.
   */
  readonly uidHeaders: readonly string[];
  /** Header names in lower case. Every value of these headers is a group. */
  readonly groupHeaders: readonly string[];
  /** Prefixes of header names, in lower case. The rest of the name is the percent-encoded key of an extra value. */
  readonly extraPrefixes: readonly string[];
}

/** The ConfigMap in which every API server publishes its trusted front proxies. */
export const authenticationConfigMap = {
  namespace: 'kube-system',
  name: 'extension-apiserver-authentication',
} as const;

/**
 * Reads the trusted front proxies from the data of ConfigMap {@link authenticationConfigMap}. Undefined when it has no
 * certificate authority; then no front proxy is trusted.
 * @throws GatewayError INVALID with the key that cannot be used
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

/** An authenticator whose trusted front proxies can be replaced at any time. */
export interface RequestHeaderAuthenticator {
  readonly authenticate: Authenticator;
  /**
   * Replaces the trusted front proxies; undefined trusts none. This applies from the next request on, also on open
   * connections.
   * @throws GatewayError INVALID when the bundle cannot be read; the previous trust is kept
   */
  replace(trust: FrontProxyTrust | undefined): void;
}

const bundleName = 'requestheader-client-ca-file';
const rememberedUsers = 10_000;
/** Longest cache key in characters. Longer header lists are not cached, so that the memory is bounded. */
const rememberedLength = 16 * 1024;

/**
 * Makes an authenticator that trusts no front proxy yet.
 * @param now current time in Unix milliseconds
 */
export function makeRequestHeaderAuthenticator(now: () => number = Date.now): RequestHeaderAuthenticator {
  let current: CurrentTrust | undefined;
  // Caches one user object for each set of headers, because other caches use the object as their key.
  const users = makeRecent<User>({ maxEntries: rememberedUsers });
  return {
    authenticate: ({ rawHeaders, peerCertificates }) => {
      if (current === undefined || peerCertificates.length === 0) return undefined;
      const { trust, judge, claim } = current;
      const { sent, key } = claim(rawHeaders);
      // Without headers that name a user, the caller is no front proxy but may be a user with its own certificate.
      if (sent.length === 0) return undefined;
      const { commonName } = believable(judge, peerCertificates);
      if (trust.allowedNames.length > 0 && !trust.allowedNames.includes(commonName)) {
        throw new GatewayError(
          'UNAUTHENTICATED',
          'the name of the client certificate is not that of an allowed front proxy',
        );
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
  /**
   * Reads the headers that name the user. The result must not be used before the front proxy's certificate was
   * accepted.
   */
  readonly claim: (rawHeaders: readonly string[]) => Claim;
}

/** The headers of a request in which a front proxy names the user. */
interface Claim {
  /** Flat list of the headers that name the user (name, groups, uid, extra), header names in lower case. */
  readonly sent: readonly string[];
  /** A text that is the same only for equal `sent`. */
  readonly key: string;
}

const rememberedNames = 512;

/**
 * Makes the function that reads the headers which name the user. It is made anew for each {@link FrontProxyTrust},
 * because the header names are part of that.
 */
function claimReader(trust: FrontProxyTrust): CurrentTrust['claim'] {
  // Cache by header name as received: the name in lower case, or '' for a header that is not about the user.
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
    throw new GatewayError(
      error.code,
      `the request has headers of a front proxy, but no valid certificate of one: ${error.message}`,
    );
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

/** Joins texts with their lengths, so that different lists never have the same key. */
function keyOf(sent: readonly string[]): string {
  let key = '';
  for (const text of sent) key += `${text.length}:${text}`;
  return key;
}

/**
 * Makes the user that the headers describe; undefined when they have no user name.
 * @throws GatewayError UNAUTHENTICATED for values that are not UTF-8, IDENTITY_REFUSED from makeUser
 */
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
 * The first value of the first header that has one. Only the first line of each header counts, as in Go's Header.Get.
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

/** Parses a JSON list of strings; a missing or empty value is an empty list. */
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

/**
 * Parses a list of header names in lower case. An empty name is refused, because an empty prefix would match every
 * header.
 */
function headerNames(data: Readonly<Record<string, unknown>>, key: string): readonly string[] {
  const names = textList(data, key).map((name) => name.trim().toLowerCase());
  if (names.includes('')) throw invalid(key, 'holds an empty header name');
  return names;
}

function invalid(key: string, what: string): GatewayError {
  const { namespace, name } = authenticationConfigMap;
  return new GatewayError('INVALID', `ConfigMap ${namespace}/${name}: ${key} ${what}`);
}
