// Reads what a request line asks for: path, the part of the gateway that answers, verb and resource. Clients send the
// same paths again and again, so results are cached. A cached result depends only on method and target, and holds no
// other bytes of the request.
import { parseTarget } from './path.ts';
import type { ParsedTarget } from './path.ts';
import { requestInfo } from './request-info.ts';
import type { RequestInfo } from './request-info.ts';
import { route } from './routes.ts';
import type { Surface } from './routes.ts';

/**
 * What the request line asks for: path, the part of the gateway that answers, verb and resource. Several requests with
 * the same request line share one object, so it is never changed.
 */
export interface RequestReading {
  readonly target: ParsedTarget;
  readonly surface: Surface;
  readonly info: RequestInfo;
}

/**
 * How many results are cached, about 1 KB each: enough for a few paths of each of 2,000 clusters. When the cache is
 * full, it is emptied, so that a client with ever new paths cannot fill the memory.
 */
const maxKept = 8192;
const maxKeptLength = 256;
/**
 * Maximum length in characters of a query in cached results. A longer query contains a resourceVersion or continue
 * token, which no later request repeats.
 */
const maxKeptQuery = 32;

/**
 * Parses method and target of a request.
 * @param hostCluster name of the cluster when the request came to the host `<name>.<cluster-domain>`; otherwise
 * undefined
 * @throws GatewayError BAD_PATH or NOT_FOUND
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

/** Makes a {@link readRequest} for plain GETs that caches its results. */
export function makeGetReader(): (text: string) => RequestReading {
  const kept = new Map<string, RequestReading>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined) return known;
    const query = text.indexOf('?');
    if (text.length > maxKeptLength || (query >= 0 && text.length - query > maxKeptQuery)) {
      return readRequest('GET', text, undefined, false);
    }
    // Security: the text must be copied. A slice of a string keeps the whole string alive, here the request head with
    // the client's credential.
    const own = Buffer.from(text, 'latin1').toString('latin1');
    const reading = readRequest('GET', own, undefined, false);
    if (kept.size >= maxKept) kept.clear();
    kept.set(own, reading);
    return reading;
  };
}
