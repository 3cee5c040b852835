// Fetches a JSON document of an identity provider. It trusts that provider's authority alone, follows no redirect, and
// bounds time and length. The content of an answer never reaches a message.
import { request } from 'node:https';
import type { RequestOptions } from 'node:https';
import { isIP } from 'node:net';

/** How a provider is reached. */
export interface IssuerFetchOptions {
  /** PEM of the only authorities trusted; undefined uses those of the system. */
  readonly certificateAuthority: string | undefined;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
}

/** Why a document could not be fetched; the message names the host, never its answer. */
export class IssuerFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'IssuerFault';
  }
}

const defaultTimeoutMs = 10_000;
const defaultMaxBytes = 1024 * 1024;

/**
 * Gets a document and parses it.
 * @throws IssuerFault for another scheme than https, a link-local address, anything but 200, a body that is too long,
 *   too late or no JSON
 */
export async function fetchIssuerDocument(address: string, options: IssuerFetchOptions): Promise<unknown> {
  const { certificateAuthority, timeoutMs = defaultTimeoutMs, maxBytes = defaultMaxBytes } = options;
  const url = URL.parse(address);
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '')
    throw new IssuerFault('the address of a document of the provider is not an https URL without a user');
  if (isLinkLocal(url.hostname)) throw new IssuerFault(`${url.host} is a link-local address, which is never asked`);
  const body = await get(
    url,
    {
      ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
      // A connection of its own each time: a few requests an hour are not worth keeping one that may have died.
      agent: false,
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
      // An error that destroys the request reaches the response as well.
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
  return new IssuerFault(`${url.host} cannot be asked: ${reason}`, { cause: error });
}

/** Where clouds keep their metadata services. */
function isLinkLocal(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (isIP(host) === 4) return host.startsWith('169.254.');
  if (isIP(host) !== 6) return false;
  return /^fe[89ab][0-9a-f]:/.test(host) || /^::ffff:(?:169\.254\.|a9fe:)/.test(host);
}
