// What can go wrong while a reflector lists and watches, and what it should do next about each failure.
import { GatewayError } from '../model/errors.ts';
import { MalformedAnswer } from '../../lib/json/malformed-json.ts';
import { readStatus } from './hub-events.ts';
import { missingRule, resourceLabel } from './hub-paths.ts';
import type { HubAnswer, HubStream, WatchedResource } from './hub-types.ts';
import type { ReflectorFault } from './reflector-types.ts';

/**
 * What the loop of a reflector does next. `check` asks first whether the hub's versions have gone back (etcd restored
 * from a backup), and then lists or resumes the watch.
 */
export type Step = 'list' | 'check' | 'watch';

/** A failure after which the loop waits and then does `next`. */
export class Setback extends Error {
  readonly fault: ReflectorFault;
  readonly next: Step;
  /** Of `Retry-After`, when a busy hub sent one. */
  readonly retryAfterMs: number | undefined;
  constructor(reason: ReflectorFault['reason'], message: string, next: Step, retryAfterMs?: number) {
    super(message);
    this.fault = { reason, message };
    this.next = next;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The hub does not have this kind. */
export class MissingKind extends Error {}
/** The page or event asked for is no longer kept (410). */
export class Expired extends Error {}

/** The hub and the resource that a failure is about. */
export interface Followed {
  /** Of the hub, for messages. */
  readonly url: string;
  readonly resource: WatchedResource;
}

const statusBytes = 64 * 1024;

/** An answer other than 200 as the error the loop acts on. */
export function refusalOf(answer: HubAnswer, verb: 'list' | 'watch', { url, resource }: Followed): Error {
  const { status, body, retryAfterMs } = answer;
  const label = resourceLabel(resource);
  const where = `${label} on ${url}`;
  const after: Step = verb === 'list' ? 'list' : 'check';
  if (status === 410 && verb === 'watch') return new Expired();
  if (status === 404 && isOwnNotFound(body)) return new MissingKind();
  if (status === 401) {
    const message = `the hub ${url} does not know the gateway (401 on ${where}); renew its credential`;
    return new Setback('Unauthorized', message, after);
  }
  if (status === 403) {
    return new Setback('Forbidden', `the gateway may not ${verb} ${where}; grant it ${missingRule(resource)}`, after);
  }
  const { reason } = readStatus(body);
  // A version that the hub does not accept, or that lies in its future, would be refused again.
  const next = status === 400 || status === 422 || status === 504 ? 'list' : after;
  const message = `the hub ${url} answered ${status}${reason === '' ? '' : ` ${reason}`} to a ${verb} of ${label}`;
  return new Setback('Refused', message, next, status === 429 ? retryAfterMs : undefined);
}

/** What ended an open watch, as the error the loop acts on. */
export function watchFault(error: unknown, { url, resource }: Followed): Error {
  if (error instanceof GatewayError || error instanceof Expired || error instanceof Setback) return error;
  const what = `the watch of ${resourceLabel(resource)} on ${url}`;
  return new Setback('Malformed', `${what} cannot be read: ${wordsOf(error)}`, 'list');
}

/** Any other error as a {@link Setback}. @param doing the step that failed */
export function setbackOf(error: unknown, doing: Step, { url, resource }: Followed): Setback {
  if (error instanceof Setback) return error;
  const after: Step = doing === 'list' ? 'list' : 'check';
  if (error instanceof GatewayError) return new Setback('Unavailable', error.message, after);
  const what = `a list of ${resourceLabel(resource)} on ${url}`;
  return new Setback('Malformed', `${what} cannot be read: ${wordsOf(error)}`, 'list');
}

/** The body of a refused watch, cut where it is longer than any Status. Closes the stream. */
export async function readRefusal(stream: HubStream): Promise<HubAnswer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream.chunks) {
      parts.push(chunk);
      bytes += chunk.length;
      if (bytes > statusBytes) break;
    }
  } finally {
    stream.close();
  }
  return { status: stream.status, retryAfterMs: stream.retryAfterMs, body: Buffer.concat(parts) };
}

/**
 * Whether a 404 comes from kube-apiserver. It answers plain text for an unknown group and a Status for an unknown
 * resource of a known group; a load balancer sends neither.
 */
function isOwnNotFound(body: Buffer): boolean {
  return body.toString('utf8', 0, 64).trim() === '404 page not found' || readStatus(body).code === 404;
}

/** Our own words only: other messages may quote an object. */
function wordsOf(error: unknown): string {
  return error instanceof MalformedAnswer ? error.message : 'unknown fault';
}
