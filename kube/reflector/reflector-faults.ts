// Classifies failures of a reflector's list and watch requests, and says what the reflector should do after each.
import { GatewayError } from '../../model/errors.ts';
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { readStatus } from '../status.ts';
import { missingRule, resourceLabel } from '../paths.ts';
import type { ApiAnswer, ApiStream, WatchedResource } from '../types.ts';
import { needsList } from '../watch.ts';
import type { ReflectorFault } from './reflector-types.ts';

/**
 * What a reflector's loop does next. `list` reads all objects, and `watch` opens a watch after the last known
 * resourceVersion. `check` reads the hub's present resourceVersion: when it is lower than before (etcd was restored
 * from a backup), a new list follows, otherwise the watch is resumed.
 */
export type Step = 'list' | 'check' | 'watch';

/** A failure after which the reflector waits and then does the step `next`. */
export class Setback extends Error {
  readonly fault: ReflectorFault;
  readonly next: Step;
  /** The hub's `Retry-After`, in milliseconds; undefined when the hub sent none. */
  readonly retryAfterMs: number | undefined;
  constructor(reason: ReflectorFault['reason'], message: string, next: Step, retryAfterMs?: number) {
    super(message);
    this.fault = { reason, message };
    this.next = next;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The hub does not have this resource: its CustomResourceDefinition is not installed. */
export class MissingKind extends Error {}
/** The hub answered 410: it has dropped the requested page or event. */
export class Expired extends Error {}

/** The hub and the resource that a reflector follows, for error messages. */
export interface Followed {
  /** The hub's URL, for messages. */
  readonly url: string;
  readonly resource: WatchedResource;
}

/** When the body of a refused watch is longer than this many bytes, the rest is not read. */
const statusBytes = 64 * 1024;

/** Turns an answer other than 200 into the error that tells the reflector what to do. */
export function refusalOf(answer: ApiAnswer, verb: 'list' | 'watch', { url, resource }: Followed): Error {
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
  const next = needsList(status) ? 'list' : after;
  const message = `the hub ${url} answered ${status}${reason === '' ? '' : ` ${reason}`} to a ${verb} of ${label}`;
  return new Setback('Refused', message, next, status === 429 ? retryAfterMs : undefined);
}

/** Turns the failure of an open watch into the error that tells the reflector what to do. */
export function watchFault(error: unknown, { url, resource }: Followed): Error {
  if (error instanceof GatewayError || error instanceof Expired || error instanceof Setback) return error;
  const what = `the watch of ${resourceLabel(resource)} on ${url}`;
  return new Setback('Malformed', `${what} cannot be read: ${wordsOf(error)}`, 'list');
}

/** Turns any other error into a {@link Setback}. @param doing the step that failed */
export function setbackOf(error: unknown, doing: Step, { url, resource }: Followed): Setback {
  if (error instanceof Setback) return error;
  const after: Step = doing === 'list' ? 'list' : 'check';
  if (error instanceof GatewayError) return new Setback('Unavailable', error.message, after);
  const what = `a list of ${resourceLabel(resource)} on ${url}`;
  return new Setback('Malformed', `${what} cannot be read: ${wordsOf(error)}`, 'list');
}

/** Reads the body of a refused watch, at most about 64 KiB, and closes the stream. */
export async function readRefusal(stream: ApiStream): Promise<ApiAnswer> {
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
 * Whether a 404 was sent by kube-apiserver and not by a load balancer in front of it. kube-apiserver answers the plain
 * text "404 page not found" for an unknown group, and a Status for an unknown resource of a known group.
 */
function isOwnNotFound(body: Buffer): boolean {
  return body.toString('utf8', 0, 64).trim() === '404 page not found' || readStatus(body).code === 404;
}

/** The text of an error for messages. The text of errors thrown by libraries is not used: it may quote an object. */
function wordsOf(error: unknown): string {
  return error instanceof MalformedAnswer ? error.message : 'unknown fault';
}
