// Which answers of a member a browser must not take for a page of the gateway's own origin. Below the gateway's address
// all clusters share that origin: a page from there could act as its reader on every other cluster.
// `Content-Security-Policy: sandbox` gives the page an origin that no other page has (HTML standard, "sandboxed
// origin"); whatever other policies the answer has, the strictest holds.
import type { RelayedHeaders } from '../../routing/forward/headers.ts';
import { applicationOffset } from './path.ts';
import type { Surface } from './routes.ts';

/** Types that API servers answer with and browsers never run. A list of types may hold another one, so none matches. */
const inertType = /^application\/(?:json|yaml|vnd\.kubernetes\.protobuf)(?:;[^,]*)?$|^text\/plain(?:;[^,]*)?$/i;

/**
 * Tells which answers are to be sandboxed: everything of an application behind the API server's proxy, and elsewhere
 * what a browser may run or what makes it ask for more. Nothing where the cluster has a host, and so an origin, of its
 * own.
 */
export function sandboxes({
  prefix,
  segments,
}: Pick<Extract<Surface, { kind: 'member' }>, 'prefix' | 'segments'>): (answer: SandboxedBy) => boolean {
  return ({ contentType, asksForMore }) =>
    prefix !== '' && (asksForMore || !inertType.test(contentType) || applicationOffset(segments) >= 0);
}

type SandboxedBy = Pick<RelayedHeaders, 'contentType' | 'asksForMore'>;
