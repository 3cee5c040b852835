// The one path parser (rule "one path parser"): its segments feed authorization, routing, audit and the request line
// towards the member. Nothing else may read these bytes a second time: two readings that differ let a request reach a
// cluster it was not authorized for.
import { GatewayError } from '../../cache/model/errors.ts';

/** A request target taken apart, never normalised. */
export interface ParsedTarget {
  /** Path bytes as received, without the query. */
  readonly path: string;
  /** Query bytes as received with the leading `?`, or ''. */
  readonly query: string;
  /** Percent-decoded segments; a trailing slash adds no segment. */
  readonly segments: readonly string[];
  /** Offset in `path` of the slash before each segment: where a sub-path starts, byte-exact. */
  readonly starts: readonly number[];
  readonly trailingSlash: boolean;
}

/** Visible ASCII without the characters RFC 3986 forbids raw in a target and servers disagree about. */
const targetBytes = /^[!$%&'()*+,\-./0-9:;=?@A-Z_a-z~|[\]{}"^`<>]*$/;
const validEscapes = /^(?:[^%]|%[0-9A-Fa-f]{2})*$/;
/** `.`, `..`, also behind or before a `;` that some servers cut off. */
const dotSegment = /(?:^|;)\.{1,2}(?:$|;)/;
const maxTargetBytes = 64 * 1024;
/**
 * Of a query with more than 10,000 pairs Go's net/url reads nothing (1.26, `urlmaxqueryparams`; empty pairs count): a
 * list of one name would become one of everything. The rest is room for pairs of our own, which a request to every
 * cluster gets on its way.
 */
const maxQueryPairs = 10_000 - 16;
/** Each segment costs work before anybody is authenticated. A path of an API has a dozen of them. */
const maxSegments = 1000;

/**
 * Parses an origin-form request target.
 * @throws GatewayError BAD_PATH for absolute-form, authority-form, `*`, `//`, dot segments in any spelling, encoded
 *   slashes, backslashes, control characters or percent signs, and for more pairs in the query than a server in Go
 *   reads. Behind `{services,pods,nodes}/<x>/proxy/` the bytes belong to an application: there empty segments and
 *   encoded slashes pass, dot segments never do.
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
  // Most paths hold nothing that has to be decoded or checked: no escape, no empty or dot segment, no `;`.
  if (plainPath.test(path) && !path.includes('//') && !path.includes('/.')) return plainTarget(path, query);
  if (!targetBytes.test(path)) throw badPath('the path holds bytes that must be percent-encoded');
  return escapedTarget(path, query);
}

function hasMoreSlashes(path: string, most: number): boolean {
  let count = 0;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) if (++count > most) return true;
  return false;
}

/** Characters of names, and dots only inside a segment (checked apart). */
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

/** A path of which each segment has to be decoded and checked. */
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
  // A second reading catches %252e: some server behind us may decode twice.
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
 * The path as an API server reads it (Go's `URL.Path`): `/%6cogs` is `/logs`. Rules and audit policies name paths so.
 * @param path as received
 * @param segments its segments, decoded
 */
export function decodedPath(path: string, segments: readonly string[]): string {
  if (!path.includes('%')) return path;
  return `/${segments.join('/')}${path.endsWith('/') ? '/' : ''}`;
}

/**
 * The segments before the path of a member: none (the cluster is in the host name), `/clusters/<x>/proxy`, or
 * `/apis/<group>/<version>/<resource>/<x>/proxy`. routes.ts knows no other prefix; a test compares the two.
 */
const memberOffsets = [0, 3, 6];

function applicationPath(segments: readonly string[]): boolean {
  return memberOffsets.some((offset) => applicationOffset(segments, offset) >= 0);
}

/**
 * Index of the segment `proxy` in `api/v1/namespaces/<ns>/{pods,services}/<x>/proxy` or `api/v1/nodes/<x>/proxy`, or
 * -1: what follows it is the path inside an application behind the API server's own proxy.
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
