// Fetches a JSON document of an identity provider over https. If the provider has a certificate authority configured,
// only that one is trusted. Redirects are not followed; time and size are limited. Error messages never quote an
// answer.
import { Agent, request } from 'node:https';
import type { RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import { environmentProxyOf, type Environment } from '../../lib/environment-proxy.ts';

/** How to connect to a provider, and limits for the answer. */
export interface IssuerFetchOptions {
  /** The trusted certificate authorities in PEM; undefined trusts those of the system. */
  readonly certificateAuthority: string | undefined;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Variables that may name a proxy, as in Go; those of the process by default. */
  readonly environment?: Environment;
}

/** Why a document could not be fetched. The message has the host name and nothing of the answer. */
export class IssuerFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IssuerFault';
  }
}

const defaultTimeoutMs = 10_000;
const defaultMaxBytes = 1024 * 1024;

/**
 * Fetches a document and parses it.
 * @throws IssuerFault when the URL is not https, has a user name or a link-local address, the status is not 200, or the
 *   body is too long, too late or not JSON
 */
export async function fetchIssuerDocument(address: string, options: IssuerFetchOptions): Promise<unknown> {
  const {
    certificateAuthority,
    timeoutMs = defaultTimeoutMs,
    maxBytes = defaultMaxBytes,
    environment = process.env,
  } = options;
  const url = URL.parse(address);
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '')
    throw new IssuerFault('an address of the provider is not an https URL, or has a user name in it');
  if (isLinkLocal(url.hostname)) throw new IssuerFault(`${url.host} is a link-local address, which is not allowed`);
  const body = await get(
    url,
    {
      ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
      // A new connection each time: for a few requests an hour it is not worth keeping one open that may have died.
      agent: agentFor(url, environment),
      headers: { accept: 'application/json', 'user-agent': 'portcullis' },
      maxHeaderSize: 64 * 1024,
      signal: AbortSignal.timeout(timeoutMs),
    },
    maxBytes,
  );
  try {
    return JSON.parse(body) as unknown;
  } catch {
    throw new IssuerFault(`${url.host} did not answer with JSON`);
  }
}

function agentFor(url: URL, environment: Environment): Agent | false {
  const proxy = environmentProxyOf(url, environment);
  return proxy === undefined ? false : new Agent({ keepAlive: false, proxyEnv: { HTTPS_PROXY: proxy } });
}

function get(url: URL, options: RequestOptions, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(url, options, (response) => {
      if (response.statusCode !== 200) {
        asked.destroy();
        const redirect = response.headers.location === undefined ? '' : ', a redirect, and none is followed';
        reject(new IssuerFault(`${url.host} answered ${response.statusCode}${redirect}`));
        return;
      }
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length <= maxBytes) chunks.push(chunk);
        else asked.destroy(new IssuerFault(`${url.host} answered more than ${maxBytes} bytes`));
      });
      response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      // An error passed to destroy() is emitted on the response as well.
      response.on('error', (error) => reject(faultOf(url, error)));
      response.on('aborted', () => reject(new IssuerFault(`${url.host} cut its answer`)));
    });
    asked.on('error', (error) => reject(faultOf(url, error)));
    asked.end();
  });
}

function faultOf(url: URL, error: Error): IssuerFault {
  if (error instanceof IssuerFault) return error;
  const { code } = error as NodeJS.ErrnoException;
  const reason =
    error.name === 'AbortError' || error.name === 'TimeoutError' ? 'no answer in time' : (code ?? 'failed');
  return new IssuerFault(`${url.host} cannot be reached: ${reason}`, { cause: error });
}

/** Whether the host is a link-local address, where clouds have their metadata services. */
function isLinkLocal(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (isIP(host) === 4) return host.startsWith('169.254.');
  if (isIP(host) !== 6) return false;
  return /^fe[89ab][0-9a-f]:/.test(host) || /^::ffff:(?:169\.254\.|a9fe:)/.test(host);
}
