// The only parser of request paths (docs/rules.md, "One path parser"). Its segments are used for authorization,
// routing, audit and the request to the cluster. Security: no other code may parse the path. If two parsers read the
// same bytes differently, a request could reach a cluster for which it was not authorized.
import { GatewayError } from '../model/errors.ts';

/** A request target (path and query) split into its parts. Nothing in it is normalised. */
export interface ParsedTarget {
  /** Bytes of the path as received, without the query. */
  readonly path: string;
  /** Bytes of the query as received, with the leading `?`; '' without a query. */
  readonly query: string;
  /** Segments with percent escapes decoded. A trailing slash adds no segment. */
  readonly segments: readonly string[];
  /**
   * For each segment, the position in `path` of the slash before it, so that the rest of the path can be cut out
   * unchanged.
   */
  readonly starts: readonly number[];
  readonly trailingSlash: boolean;
}

/**
 * Matches paths of visible ASCII characters, except `#`, which starts a fragment, and the backslash, which some servers
 * treat as a slash.
 */
const targetBytes = /^[!$%&'()*+,\-./0-9:;=?@A-Z_a-z~|[\]{}"^`<>]*$/;
const validEscapes = /^(?:[^%]|%[0-9A-Fa-f]{2})*$/;
/** A segment `.` or `..`, also before or after a `;`, since some servers cut a segment at `;`. */
const dotSegment = /(?:^|;)\.{1,2}(?:$|;)/;
const maxTargetBytes = 64 * 1024;
/**
 * Maximum number of query parameters; a request with more is refused. Go's net/url reads nothing from a query with more
 * than 10,000 parameters (Go 1.26, `urlmaxqueryparams`; empty ones count), so a list of one name would become a list of
 * everything. Sixteen are reserved for parameters that the gateway adds.
 */
const maxQueryPairs = 10_000 - 16;
/**
 * Maximum number of path segments; a request with more is refused, because each segment costs work before the caller is
 * authenticated. Paths of the Kubernetes API have at most a dozen.
 */
const maxSegments = 1000;

/**
 * Parses a request target in origin form (path and query).
 * @throws GatewayError BAD_PATH for other forms, `//`, dot segments however they are spelled, encoded slashes,
 * backslashes, control characters, encoded percent signs, and for more query parameters than Go reads. Behind
 * `{services,pods,nodes}/<x>/proxy/` the path belongs to an application: there, empty segments and encoded slashes are
 * allowed, dot segments are not
 */
export function parseTarget(target: string): ParsedTarget {
  if (target.charCodeAt(0) !== 0x2f) throw badPath('the request target must be a path that starts with "/"');
  if (target.length > maxTargetBytes) throw badPath('the request target is longer than 64 KiB');
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? '' : target.slice(mark);
  if (hasMoreSlashes(path, maxSegments)) throw badPath(`the path has more than ${maxSegments} segments`);
  if (query !== '' && /[^\x21-\x7e]|#/.test(query)) throw badPath('the query holds bytes that must be percent-encoded');
  if (query.length > maxQueryPairs && query.split('&').length > maxQueryPairs)
    throw badPath(`the query holds more than ${maxQueryPairs} pairs`);
  // The usual case, checked first because it is fast: a path without percent escapes, empty segments, dot segments or
  // `;`.
  if (plainPath.test(path) && !path.includes('//') && !path.includes('/.')) return plainTarget(path, query);
  if (!targetBytes.test(path)) throw badPath('the path holds bytes that must be percent-encoded');
  return escapedTarget(path, query);
}

function hasMoreSlashes(path: string, most: number): boolean {
  let count = 0;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) if (++count > most) return true;
  return false;
}

/** Characters of ordinary paths. Segments that begin with a dot match too, so `/.` must be checked separately. */
const plainPath = /^[A-Za-z0-9/:._~-]+$/;

function plainTarget(path: string, query: string): ParsedTarget {
  const trailingSlash = path.length > 1 && path.endsWith('/');
  const segments: string[] = [];
  const starts: number[] = [];
  const length = trailingSlash ? path.length - 1 : path.length;
  for (let start = 0; start + 1 < length;) {
    const slash = path.indexOf('/', start + 1);
    const end = slash < 0 || slash > length ? length : slash;
    segments.push(path.slice(start + 1, end));
    starts.push(start);
    start = end;
  }
  return { path, query, segments, starts, trailingSlash };
}

/** Parses a path that is not plain: each segment is decoded and checked. */
function escapedTarget(path: string, query: string): ParsedTarget {
  const segments: string[] = [];
  const starts: number[] = [];
  let start = 0;
  let inApplication = false;
  while (start < path.length) {
    let end = path.indexOf('/', start + 1);
    if (end < 0) end = path.length;
    const raw = path.slice(start + 1, end);
    const trailing = raw === '' && end === path.length;
    inApplication ||= applicationPath(segments);
    if (!(trailing && (segments.length > 0 || path === '/'))) {
      segments.push(decodeSegment(raw, inApplication));
      starts.push(start);
    }
    start = end;
  }
  return { path, query, segments, starts, trailingSlash: path.length > 1 && path.endsWith('/') };
}

function decodeSegment(raw: string, inApplication: boolean): string {
  if (raw === '' && !inApplication) throw badPath('the path holds an empty segment ("//")');
  if (!raw.includes('%')) {
    if (dotSegment.test(raw)) throw badPath('the path holds a dot segment');
    return raw;
  }
  if (!validEscapes.test(raw)) throw badPath('the path holds a bad percent escape');
  let decoded: string;
  try {
    decoded = decodeURIComponent(raw);
  } catch {
    throw badPath('the path is not valid UTF-8');
  }
  // A server behind the gateway may decode the path a second time, and `%252e` would then become a dot. So dot segments
  // are searched for again after up to three more rounds of decoding.
  let twice = decoded;
  for (let i = 0; i < 3 && twice.includes('%'); i++)
    twice = twice.replaceAll(/%2e/gi, '.').replaceAll(/%25/g, '%').replaceAll(/%2f/gi, '/').replaceAll(/%5c/gi, '\\');
  if (twice.split(/[/\\]/).some((part) => dotSegment.test(part))) throw badPath('the path holds a dot segment');
  if (/[\u0000-\u001f\u007f]/.test(decoded)) throw badPath('the path holds a control character');
  if (!inApplication && /[/\\%]/.test(decoded))
    throw badPath('a path segment holds an encoded slash, backslash or percent sign');
  return decoded;
}

/**
 * The path as an API server reads it (Go's `URL.Path`): `/%6cogs` is `/logs`. Authorization rules and audit policies
 * are matched with this form.
 * @param path as received
 * @param segments the decoded segments of `path`
 */
export function decodedPath(path: string, segments: readonly string[]): string {
  if (!path.includes('%')) return path;
  return `/${segments.join('/')}${path.endsWith('/') ? '/' : ''}`;
}

/**
 * How many segments come before the path on a cluster: 0 (the cluster is in the host name), 3 (`/clusters/<x>/proxy`)
 * or 6 (`/apis/<group>/<version>/<resource>/<x>/proxy`). routes.ts must have no other prefixes; a test compares the two
 * files.
 */
const memberOffsets = [0, 3, 6];

function applicationPath(segments: readonly string[]): boolean {
  return memberOffsets.some((offset) => applicationOffset(segments, offset) >= 0);
}

/**
 * Index of the segment `proxy` in `api/v1/namespaces/<ns>/{pods,services}/<x>/proxy` or `api/v1/nodes/<x>/proxy`; -1
 * for other paths. The segments after it are the path of an application behind the API server's proxy.
 */
export function applicationOffset(segments: readonly string[], offset = 0): number {
  if (segments[offset] !== 'api' || segments[offset + 1] !== 'v1') return -1;
  if (segments[offset + 2] === 'nodes') return segments[offset + 4] === 'proxy' ? offset + 4 : -1;
  if (segments[offset + 2] !== 'namespaces') return -1;
  const kind = segments[offset + 4];
  return (kind === 'pods' || kind === 'services') && segments[offset + 6] === 'proxy' ? offset + 6 : -1;
}

function badPath(message: string): GatewayError {
  return new GatewayError('BAD_PATH', message);
}
