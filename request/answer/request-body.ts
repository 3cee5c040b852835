// Reads the whole body of a request that the gateway answers itself. Size (256 KiB, unless the caller gives another
// limit) and time are limited here, because the listener's own limits are meant for bodies that are streamed to a
// member and are too generous for this.
import { GatewayError } from '../../model/errors.ts';
import { headerValues } from '../../http/raw-headers.ts';
import type { Inbound } from '../../http/inbound.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

/**
 * Maximum bytes of a body that the gateway itself reads; more is refused with TOO_LARGE. Such bodies usually have a few
 * hundred bytes, so the limit is far below kube-apiserver's 3 MiB.
 */
const maxBodyBytes = 256 * 1024;
const bodyTimeoutMs = 10_000;

/**
 * Reads a body of at most 256 KiB as JSON.
 * @throws GatewayError (rejects) UNSUPPORTED_MEDIA_TYPE, TOO_LARGE or BAD_REQUEST
 */
export async function readJsonBody(inbound: Inbound): Promise<unknown> {
  const [type = ''] = headerValues(inbound.headers, 'content-type');
  const mediaType = type.split(';')[0]!.trim().toLowerCase();
  // A body without a Content-Type is read as JSON, as kube-apiserver does.
  if (mediaType !== 'application/json' && mediaType !== '') {
    throw new GatewayError(
      'UNSUPPORTED_MEDIA_TYPE',
      'the body of the request was in an unknown format - accepted media types include: application/json',
    );
  }
  const body = await readBody(inbound);
  try {
    return parseExact(body);
  } catch {
    throw new GatewayError('BAD_REQUEST', 'the body of the request is not valid JSON');
  }
}

/**
 * Reads the whole body, whatever its Content-Type.
 * @throws GatewayError (rejects) TOO_LARGE above `maxBytes`; BAD_REQUEST when the body takes over ten seconds or the
 * client goes away
 */
export function readBody(inbound: Inbound, maxBytes: number = maxBodyBytes): Promise<Buffer> {
  if (inbound.body === 'none') return Promise.resolve(Buffer.alloc(0));
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    const tooLarge = (): void =>
      reject(new GatewayError('TOO_LARGE', `the body of the request is longer than ${maxBytes / 1024} KiB`));
    const timer = setTimeout(
      () => reject(new GatewayError('BAD_REQUEST', 'the body of the request did not arrive in time')),
      bodyTimeoutMs,
    );
    inbound.onClose(() => {
      clearTimeout(timer);
      reject(new GatewayError('BAD_REQUEST', 'the client went away'));
    });
    if (typeof inbound.body === 'number' && inbound.body > maxBytes) {
      clearTimeout(timer);
      tooLarge();
      return;
    }
    inbound.readBody({
      onData(chunk) {
        length += chunk.length;
        if (length > maxBytes) {
          inbound.pauseBody();
          clearTimeout(timer);
          tooLarge();
        } else chunks.push(chunk);
      },
      onEnd() {
        clearTimeout(timer);
        resolve(Buffer.concat(chunks));
      },
    });
  });
}
