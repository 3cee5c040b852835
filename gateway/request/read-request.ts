// Reads a request line: path, surface, what is asked for. Clients ask for the same paths again and again, so readings
// are kept. A kept reading depends on method and target alone and holds no bytes of the request it was made from.
import { parseTarget } from './path.ts';
import type { ParsedTarget } from './path.ts';
import { requestInfo } from './request-info.ts';
import type { RequestInfo } from './request-info.ts';
import { route } from './routes.ts';
import type { Surface } from './routes.ts';

/** What a request line says. Shared between requests: never changed. */
export interface RequestReading {
  readonly target: ParsedTarget;
  readonly surface: Surface;
  readonly info: RequestInfo;
}

/**
 * How many readings are kept, of about 1 KB each: a few paths of each of 2,000 clusters. When that many are kept, all
 * are dropped, so that a client with ever new paths cannot fill the memory.
 */
const maxKept = 8192;
const maxKeptLength = 256;
/** Longer queries hold versions and tokens, which no later request repeats. */
const maxKeptQuery = 32;

/**
 * @param hostCluster name of the cluster when the request came to `<name>.<cluster-domain>`
 * @throws GatewayError BAD_PATH, NOT_FOUND
 */
export function readRequest(
  method: string,
  text: string,
  hostCluster: string | undefined,
  isUpgrade: boolean,
): RequestReading {
  const target = parseTarget(text);
  const surface = route(target, hostCluster);
  const segments = surface.kind === 'member' ? surface.segments : target.segments;
  return { target, surface, info: requestInfo(method, segments, target.query, isUpgrade) };
}

/** {@link readRequest} of plain GETs, remembered. */
export function makeGetReader(): (text: string) => RequestReading {
  const kept = new Map<string, RequestReading>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const query = text.indexOf('?');
    if (text.length > maxKeptLength || (query >= 0 && text.length - query > maxKeptQuery)) {
      return readRequest('GET', text, undefined, false);
    }
    // A copy: a slice would keep the whole request head in memory, with the client's credential.
    const own = Buffer.from(text, 'latin1').toString('latin1');
    const reading = readRequest('GET', own, undefined, false);
    if (kept.size >= maxKept) kept.clear();
    kept.set(own, reading);
    return reading;
  };
}
