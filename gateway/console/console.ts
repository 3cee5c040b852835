// Answers requests below /console/: the page, its files, and how one can log in. Every caller gets the same answers,
// and nothing in them comes from a cluster. In the demo only, a one-time code is exchanged for a token.
import { randomBytes } from 'node:crypto';
import { GatewayError } from '../../model/errors.ts';
import { isLoopback } from '../../lib/text/host-port.ts';
import { headerValues } from '../../http/raw-headers.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { ConsoleConfig } from '../../config/sections/console-config.ts';
import { jsonResponse } from '../../request/answer/status.ts';
import type { CompleteResponse } from '../../request/answer/status.ts';
import type { Asset, Coding, ConsoleAssets } from './assets.ts';

/** The data from which answers below /console/ are made. */
export interface ConsoleParts {
  /** The files of the console; undefined when it was not built. */
  readonly assets: ConsoleAssets | undefined;
  readonly config: ConsoleConfig;
  /** Returns true when the gateway accepts client certificates at present. */
  readonly takesCertificates: () => boolean;
}

/** One request below /console/. */
export interface ConsoleRequest {
  readonly method: string;
  /** The part of the path behind `/console/`. */
  readonly path: string;
  /** Host and port that the request was sent to. */
  readonly host: string;
  readonly headers: RawHeaders;
  readonly auditId: string;
}

/**
 * Makes the function that answers a request below /console/. The function throws NOT_FOUND for a file that does not
 * exist.
 */
export function makeConsole(parts: ConsoleParts): (request: ConsoleRequest) => CompleteResponse {
  const { assets, config } = parts;
  return (request) => {
    if (assets === undefined) {
      throw new GatewayError('NOT_FOUND', 'the console was not built; in a checkout run: node console/build.ts');
    }
    const { path, headers, auditId } = request;
    if (path === loginPath) return loginResponse(request, config);
    if (path === 'config.json') {
      const { openid, redeem } = config;
      const settings = {
        ...(openid && { openid }),
        certificate: parts.takesCertificates(),
        link: redeem !== undefined,
      };
      const { status, headers: own, body } = jsonResponse(settings, auditId);
      return { status, headers: [...own, ...securityHeaders(request).slice(2)], body };
    }
    if (path.startsWith('assets/')) {
      const asset = assets.files.get(path.slice('assets/'.length));
      if (asset === undefined) throw new GatewayError('NOT_FOUND', 'there is no such file; load the page again');
      return fileResponse(asset, headers, securityHeaders(request), auditId);
    }
    return pageResponse(assets.page, request, config);
  };
}

/**
 * The path, without `/console/`, at which a one-time code is exchanged for a token. It is the only one that accepts
 * POST.
 */
export const loginPath = 'login-link';
/**
 * The header with the one-time code. A page of another origin cannot send this header: that needs a CORS permission,
 * which the gateway never gives.
 */
const codeHeader = 'portcullis-login-code';

/**
 * Exchanges the one-time code of a log-in link for a token. The code comes in a header, because URLs end up in logs.
 */
function loginResponse(request: ConsoleRequest, { redeem }: ConsoleConfig): CompleteResponse {
  if (redeem === undefined) throw new GatewayError('NOT_FOUND', 'links that log in are only for the demo');
  const [code = ''] = headerValues(request.headers, codeHeader);
  const token = request.method === 'POST' ? redeem(code) : undefined;
  if (token === undefined)
    throw new GatewayError(
      'FORBIDDEN',
      'this link was used before or has expired; use the newest link that the demo has printed',
    );
  const { status, headers, body } = jsonResponse({ token }, request.auditId);
  return { status, headers: [...headers, 'Cache-Control', 'no-store', ...securityHeaders(request).slice(2)], body };
}

/**
 * Answers with the HTML page. Each answer has a new nonce, by which the Content-Security-Policy allows the styles that
 * the editor and the terminal create.
 */
function pageResponse(page: string, request: ConsoleRequest, config: ConsoleConfig): CompleteResponse {
  const nonce = randomBytes(16).toString('base64url');
  const body = Buffer.from(page.replaceAll('NONCE', nonce));
  const headers = [
    'Content-Type',
    'text/html; charset=utf-8',
    'Content-Length',
    String(body.length),
    'Cache-Control',
    'no-cache',
    'Content-Security-Policy',
    contentPolicy(nonce, config),
    ...securityHeaders(request),
    'Audit-Id',
    request.auditId,
  ];
  return { status: 200, headers, body };
}

/**
 * The Content-Security-Policy of the page: it may load its own files, send requests to its own origin and to the
 * identity provider, and nothing else.
 */
function contentPolicy(nonce: string, { openid }: ConsoleConfig): string {
  const provider = openid === undefined ? '' : ` ${new URL(openid.issuer).origin}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    `connect-src 'self'${provider}`,
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

function securityHeaders({ host }: ConsoleRequest): string[] {
  const isLocal = isLoopback(host.replace(/:\d{1,5}$/, '').replace(/^\[(.*)\]$/, '$1'));
  return [
    'X-Content-Type-Options',
    'nosniff',
    'X-Frame-Options',
    'DENY',
    'Referrer-Policy',
    'no-referrer',
    'Cross-Origin-Opener-Policy',
    'same-origin',
    'Cross-Origin-Resource-Policy',
    'same-origin',
    'Permissions-Policy',
    'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(isLocal ? [] : ['Strict-Transport-Security', 'max-age=31536000']),
  ];
}

/**
 * Answers with a file of the console. The file's name contains the hash of its content, so browsers may cache it for a
 * year.
 */
function fileResponse(
  asset: Asset,
  headers: RawHeaders,
  security: readonly string[],
  auditId: string,
): CompleteResponse {
  const coding = acceptedCoding(asset, headers);
  const tag = `"${asset.hash}${coding === '' ? '' : `-${coding}`}"`;
  const shared = [
    'ETag',
    tag,
    'Cache-Control',
    'public, max-age=31536000, immutable',
    'Vary',
    'Accept-Encoding',
    ...security,
    'Audit-Id',
    auditId,
  ];
  const known = headerValues(headers, 'if-none-match').flatMap((value) => value.split(',').map((one) => one.trim()));
  if (known.includes(tag)) return { status: 304, headers: shared, body: Buffer.alloc(0) };
  const body = asset.bodies.get(coding)!;
  const encoding = coding === '' ? [] : ['Content-Encoding', coding];
  return {
    status: 200,
    headers: ['Content-Type', asset.contentType, 'Content-Length', String(body.length), ...encoding, ...shared],
    body,
  };
}

/**
 * The content coding of the smallest stored copy that the client accepts. A coding with `q=0` is one that the client
 * does not accept.
 */
function acceptedCoding({ bodies }: Asset, headers: RawHeaders): Coding {
  const offered = headerValues(headers, 'accept-encoding')
    .flatMap((value) => value.split(','))
    .map((value) => value.trim().toLowerCase())
    .filter((value) => !/;\s*q=0(?:\.0*)?$/.test(value))
    .map((value) => value.split(';', 1)[0]!.trim());
  return (['br', 'gzip'] as const).find((coding) => offered.includes(coding) && bodies.has(coding)) ?? '';
}
