// Kubernetes' CEL library of URLs (apiserver/pkg/cel/library/urls.go). They are parsed as by Go's net/url, which
// accepts other texts than JavaScript's class URL and normalizes less.
import { isIPv4, isIPv6 } from 'node:net';
import { KubernetesValue } from './equality.ts';
import type { Library } from './library.ts';
import { CelFault } from './steps.ts';

interface UrlParts {
  readonly scheme: string;
  readonly opaque: string;
  /** User and password as written in the URL, without the `@`; undefined when there are none. */
  readonly user: string | undefined;
  readonly host: string;
  /** The path as written in the URL, with its escapes. */
  readonly path: string;
  readonly query: string;
  readonly hasQuery: boolean;
  readonly fragment: string;
}

/** A URL. */
export class GoUrl extends KubernetesValue {
  static readonly typeName = 'kubernetes.URL';
  readonly parts: UrlParts;

  constructor(parts: UrlParts) {
    super();
    this.parts = parts;
  }

  override equals(other: this): boolean {
    return this.#whole() === other.#whole();
  }

  /** The URL as Go's URL.String() writes it. Two URLs are equal when these texts are. */
  #whole(): string {
    const { scheme, opaque, user, host, query, hasQuery, fragment } = this.parts;
    return JSON.stringify([scheme, opaque, user, host, this.escapedPath(), query, hasQuery, fragment]);
  }

  escapedPath(): string {
    const { path } = this.parts;
    // As in Go, a path that is escaped validly keeps the escapes with which it was written.
    return /^[\w\-.~$&+,/:;=@!'()*[\]%]*$/.test(path) ? path : escaped(unescaped(path, false), /[\w\-.~$&+,/:;=@]/);
  }

  /** Splits the host field into host and port; the port is '' when there is none. */
  hostAndPort(): readonly [host: string, port: string] {
    const [, host = this.parts.host, port = ''] = /^(.*):(\d*)$/s.exec(this.parts.host) ?? [];
    return [host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host, port];
  }

  queryValues(): Readonly<Record<string, readonly string[]>> {
    const values: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
    for (const setting of this.parts.query.split('&')) {
      if (setting === '' || setting.includes(';')) continue;
      const equals = setting.indexOf('=');
      const written = equals < 0 ? [setting, ''] : [setting.slice(0, equals), setting.slice(equals + 1)];
      if (written.some((part) => badEscape.test(part))) continue;
      const [key = '', value = ''] = written.map((part) => unescaped(part, true));
      (values[key] ??= []).push(value);
    }
    return values;
  }
}

/** A percent sign that begins no escape. */
const badEscape = /%(?![0-9a-fA-F]{2})/;

function unescaped(text: string, isQuery: boolean): string {
  const plain = isQuery ? text.replaceAll('+', ' ') : text;
  if (!plain.includes('%')) return plain;
  const bytes = plain.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());
  return bytes;
}

function escaped(text: string, plain: RegExp): string {
  let out = '';
  for (const character of text) {
    if (plain.test(character)) out += character;
    else for (const byte of Buffer.from(character)) out += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

/**
 * Parses a URL as Kubernetes does: first by Go's url.ParseRequestURI, then by url.Parse, which also accepts a fragment.
 */
function parseUrl(text: string): GoUrl {
  partsOf(text, text, true);
  const hash = text.indexOf('#');
  if (hash < 0) return new GoUrl(partsOf(text, text, false));
  const fragment = text.slice(hash + 1);
  if (badEscape.test(fragment)) throw escapeFault(text, fragment);
  return new GoUrl({ ...partsOf(text, text.slice(0, hash), false), fragment });
}

const noParts: UrlParts = {
  scheme: '',
  opaque: '',
  user: undefined,
  host: '',
  path: '',
  query: '',
  hasQuery: false,
  fragment: '',
};

/**
 * Splits a URL into its parts. @param whole the text that error messages quote @param isRequest true for
 * ParseRequestURI, which accepts only absolute URLs and paths that begin with `/`
 */
function partsOf(whole: string, text: string, isRequest: boolean): UrlParts {
  const fault = (words: string): CelFault => new CelFault(`parse ${JSON.stringify(whole)}: ${words}`);
  if (/[\x00-\x1f\x7f]/.test(text)) throw fault('net/url: invalid control character in URL');
  if (text === '' && isRequest) throw fault('empty url');
  if (text === '*') return { ...noParts, path: '*' };
  if (text.startsWith(':')) throw fault('missing protocol scheme');
  const [prefix = '', written = ''] = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text) ?? [];
  const scheme = written.toLowerCase();
  const behind = text.slice(prefix.length);
  const [rest = '', ...queries] = behind.split('?');
  const parts = { ...noParts, scheme, query: queries.join('?'), hasQuery: queries.length > 0 };
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { ...parts, opaque: rest };
    throwIfOddPath(rest, isRequest, fault);
  }
  const hasHost = rest.startsWith('//') && (scheme !== '' || (!isRequest && !rest.startsWith('///')));
  const [authority, path] = hasHost ? splitHost(rest) : [undefined, rest];
  const [user, host] = authority === undefined ? [undefined, ''] : authorityOf(authority, fault);
  if (badEscape.test(path)) throw escapeFault(whole, path);
  return { ...parts, user, host, path };
}

function throwIfOddPath(path: string, isRequest: boolean, fault: (words: string) => CelFault): void {
  if (isRequest) throw fault('invalid URI for request');
  if (path.split('/')[0]!.includes(':')) throw fault('first path segment in URL cannot contain colon');
}

/** Splits `//user@host/path` into `user@host` and `/path`. */
function splitHost(text: string): readonly [authority: string, path: string] {
  const slash = text.indexOf('/', 2);
  return slash < 0 ? [text.slice(2), ''] : [text.slice(2, slash), text.slice(slash)];
}

function escapeFault(whole: string, part: string): CelFault {
  const bad = part.slice(part.search(badEscape)).slice(0, 3);
  return new CelFault(`parse ${JSON.stringify(whole)}: invalid URL escape ${JSON.stringify(bad)}`);
}

function authorityOf(
  text: string,
  fault: (words: string) => CelFault,
): readonly [user: string | undefined, host: string] {
  const at = text.lastIndexOf('@');
  const host = hostOf(text.slice(at + 1), fault);
  if (at < 0) return [undefined, host];
  const user = text.slice(0, at);
  if (!/^[\w\-.:~!$&'()*+,;=%@]*$/.test(user)) throw fault('net/url: invalid userinfo');
  if (badEscape.test(user)) throw fault(`invalid URL escape ${JSON.stringify(user.slice(user.search(badEscape), 3))}`);
  return [user, host];
}

function hostOf(text: string, fault: (words: string) => CelFault): string {
  const bracket = text.lastIndexOf('[');
  if (bracket > 0) throw fault('invalid IP-literal');
  if (bracket === 0) return bracketed(text, fault);
  const colon = text.lastIndexOf(':');
  const port = colon < 0 ? '' : text.slice(colon);
  if (!/^(?::\d*)?$/.test(port)) throw fault(`invalid port ${JSON.stringify(port)} after host`);
  return plainHost(text, fault);
}

function bracketed(text: string, fault: (words: string) => CelFault): string {
  const close = text.lastIndexOf(']');
  if (close < 0) throw fault("missing ']' in host");
  const port = text.slice(close + 1);
  if (!/^(?::\d*)?$/.test(port)) throw fault(`invalid port ${JSON.stringify(port)} after host`);
  const [address = '', ...zone] = text.slice(1, close).split('%25');
  const host = [plainHost(address, fault), ...zone.map((part) => unescaped(part, false))].join('%');
  if (isIPv4(host)) throw fault('invalid IP-literal');
  if (!isIPv6(host)) throw fault(`invalid host: ParseAddr(${JSON.stringify(host)}): unable to parse IP`);
  return `[${host}]${port}`;
}

/** Decodes a host. As in Go, only bytes that are not ASCII may be percent-encoded in it. */
function plainHost(text: string, fault: (words: string) => CelFault): string {
  const escape = /%(?![89a-fA-F][0-9a-fA-F]|25).{0,2}/s.exec(text)?.[0];
  if (escape !== undefined) throw fault(`invalid URL escape ${JSON.stringify(escape)}`);
  const odd = /[\x00-\x7f]/g;
  for (const [character] of text.matchAll(odd))
    if (!/[\w\-.~!$&'()*+,;=:[\]<>"%]/.test(character))
      throw fault(`invalid character ${JSON.stringify(character)} in host name`);
  return unescaped(text, false);
}

/** The error of Go's url.ParseRequestURI for the text; undefined when it accepts the text. */
export function urlFault(text: string): string | undefined {
  try {
    partsOf(text, text, true);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Registers `url`, `isURL` and the methods of URLs. */
export function addUrls({ add, addType, steps }: Library): void {
  const u = GoUrl.typeName;
  addType(u, GoUrl);
  add(`url(string): ${u}`, (text: string) => {
    steps.spendText(text.length * 4);
    try {
      return parseUrl(text);
    } catch (error) {
      throw new CelFault(`URL parse error during conversion from string: ${(error as Error).message}`);
    }
  });
  add('isURL(string): bool', (text: string) => {
    steps.spendText(text.length * 4);
    return urlFault(text) === undefined;
  });
  add(`${u}.getScheme(): string`, ({ parts }: GoUrl) => parts.scheme);
  add(`${u}.getHost(): string`, ({ parts }: GoUrl) => parts.host);
  add(`${u}.getHostname(): string`, (url: GoUrl) => url.hostAndPort()[0]);
  add(`${u}.getPort(): string`, (url: GoUrl) => url.hostAndPort()[1]);
  add(`${u}.getEscapedPath(): string`, (url: GoUrl) => {
    steps.spendText(url.parts.path.length * 4);
    return url.escapedPath();
  });
  add(`${u}.getQuery(): map<string, list<string>>`, (url: GoUrl) => {
    steps.spendText(url.parts.query.length * 10);
    return url.queryValues();
  });
}
