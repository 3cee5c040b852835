// Compares our reading of a connection with Go's. Only what we accept is compared, since refusing more is our right;
// but where we see the end of a connection and Go sees one more request, somebody has smuggled it.
import type { RequestInfo } from '../../request/request-info.ts';
import type { Connection, ReadRequest } from './connection.ts';
import type { GoRequest, Verdict } from './oracle.ts';

/** A sentence about the first difference that is not listed in docs/reference/fuzzing.md, or undefined. */
export function difference(ours: Connection, go: Verdict): string | undefined {
  for (const [index, request] of ours.requests.entries()) {
    // Go answers this one before any handler, and we refuse it; what it says of the rest is one request off.
    if (request.method === 'OPTIONS' && request.target === '*') return undefined;
    const other = go.requests[index];
    if (other === undefined) {
      // Both refuse: Go before its handler, we in the chain.
      if (request.pathFault !== '') return undefined;
      return `Go refuses request ${index}, which we accept: ${go.refusal ?? 'nothing said'}`;
    }
    const found = framingDifference(request, other) ?? meaningDifference(request, other);
    if (found !== undefined) return `request ${index}: ${found}`;
  }
  // What follows is read by nobody here.
  if (ours.ending === 'refused' || ours.ending === 'upgrade' || ours.ending === 'closed-here') return undefined;
  const more = go.requests.slice(ours.requests.length);
  // Go calls its handler before the body has come.
  if (ours.ending === 'incomplete' && more.length === 1 && more[0]!.bodyError !== undefined) return undefined;
  return more.length === 0 ? undefined : `Go sees ${more.length} requests more than we do`;
}

function framingDifference(ours: ReadRequest, go: GoRequest): string | undefined {
  if (ours.method !== go.method) return differ('method', ours.method, go.method);
  if (ours.target !== go.target) return differ('target', ours.target, go.target);
  // In absolute form the target names another host; the chain refuses it before it looks at either.
  if (ours.host !== go.host && ours.pathFault === '') return differ('host', ours.host, go.host);
  if (go.bodyError !== undefined) return `Go cannot read the body: ${go.bodyError}`;
  if (ours.body !== go.body) return differ('body', ours.body, go.body);
  const headers = headerTexts(ours);
  const theirs = goHeaderTexts(go);
  return headers === theirs ? undefined : differ('headers', headers, theirs);
}

/**
 * Framing is compared by its effect; Go takes it out of the headers, and answers an old cache's `Pragma` with a header
 * of its own.
 */
const ownOfGo = new Set(['host', 'transfer-encoding', 'trailer', 'content-length', 'cache-control']);

function headerTexts({ headers }: ReadRequest): string {
  const byName = new Map<string, string[]>();
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    if (!ownOfGo.has(name)) byName.set(name, [...(byName.get(name) ?? []), headers[i + 1]!]);
  }
  return sortedText(byName);
}

function goHeaderTexts({ headers }: GoRequest): string {
  const byName = new Map<string, readonly string[]>();
  for (const [name, values] of Object.entries(headers)) {
    if (!ownOfGo.has(name.toLowerCase())) byName.set(name.toLowerCase(), values);
  }
  return sortedText(byName);
}

function sortedText(byName: ReadonlyMap<string, readonly string[]>): string {
  return JSON.stringify([...byName].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function meaningDifference({ parsed, info, pathFault }: ReadRequest, go: GoRequest): string | undefined {
  if (pathFault !== '') return undefined;
  if (parsed === undefined || info === undefined) return 'we neither accept nor refuse';
  const path = `/${parsed.segments.map(bytesOf).join('/')}${parsed.trailingSlash ? '/' : ''}`;
  if (path !== go.path) return differ('path', path, go.path);
  if (go.info.error !== undefined) return `Go finds no request info: ${go.info.error}`;
  for (const field of ['isResource', 'apiGroup', 'apiVersion', 'namespace', 'resource', 'subresource'] as const) {
    const value = info[field];
    const text = typeof value === 'string' ? bytesOf(value) : value;
    if (text !== go.info[field]) return differ(field, text, go.info[field]);
  }
  const name = bytesOf(info.name);
  // Without the name that a selector pins we ask for more than was meant: listed.
  const leftOut = name === '' && (go.info.verb === 'list' || go.info.verb === 'watch');
  if (name !== go.info.name && !leftOut) return differ('name', name, go.info.name);
  const verb = bytesOf(info.verb);
  // Methods without a verb of their own: listed.
  if (verb !== go.info.verb && !(verb === '' && !info.isResource)) return differ('verb', verb, go.info.verb);
  return info.isResource ? restDifference(info, go) : undefined;
}

/** What follows the name in the path. */
function restDifference(info: RequestInfo, go: GoRequest): string | undefined {
  const rest = info.parts.map(bytesOf).join('/').replace(/\/+$/, '');
  const behind = info.subresource === '' ? 2 : 3;
  const goRest = go.info.parts.slice(behind).join('/');
  return rest === goRest ? undefined : differ('what follows', rest, goRest);
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function differ(what: string, ours: unknown, go: unknown): string {
  return `${what} is ${JSON.stringify(ours)} to us and ${JSON.stringify(go)} to Go`;
}
