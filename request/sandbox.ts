// Decides which answers of a cluster a browser must not treat as pages of the gateway's own origin. All clusters below
// the gateway's address share one origin: a page from one cluster could send requests to every other cluster as the
// person who opened it. `Content-Security-Policy: sandbox` gives the page an origin of its own (HTML standard,
// "sandboxed origin"). If the answer has other policies as well, the strictest applies.
import type { RelayedHeaders } from '../routing/forward/headers.ts';
import { applicationOffset } from './path.ts';
import type { Surface } from './routes.ts';

/**
 * Content types that API servers send and browsers never execute. The pattern does not match a list of several types.
 */
const inertType = /^application\/(?:json|yaml|vnd\.kubernetes\.protobuf)(?:;[^,]*)?$|^text\/plain(?:;[^,]*)?$/i;

/**
 * Makes a function that says whether an answer must be sandboxed: always for an application behind the API server's
 * proxy, otherwise when a browser might execute the answer or load more because of it. When the cluster has a host name
 * of its own, it has its own origin and its answers are never sandboxed.
 */
export function sandboxes({
  hasOwnOrigin,
  segments,
}: Pick<Extract<Surface, { kind: 'member' }>, 'hasOwnOrigin' | 'segments'>): (answer: SandboxedBy) => boolean {
  return ({ contentType, asksForMore }) =>
    !hasOwnOrigin && (asksForMore || !inertType.test(contentType) || applicationOffset(segments) >= 0);
}

type SandboxedBy = Pick<RelayedHeaders, 'contentType' | 'asksForMore'>;
