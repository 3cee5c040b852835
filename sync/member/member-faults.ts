// Turns a member cluster's refusal, or a failure to reach it, into the fault that users see and the error that decides
// about the next attempt. A 403 or 404 is an ordinary answer and not thrown by the client. Text of an answer must not
// appear in a message, since it may quote an object.
import { retryAfterMsOf } from '../../lib/backoff.ts';
import { GatewayError } from '../../model/errors.ts';
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { readStatus } from '../../kube/status.ts';
import { headerValue } from '../../routing/forward/headers.ts';
import { BreakerOpen } from '../../routing/call/breaker.ts';
import { readWhole, type MemberAnswer } from '../../routing/members/member-call.ts';
import { FencedError } from '../../store/fenced-error.ts';
import { mendCommand } from './read-as.ts';
import type { SyncFault } from './sync-types.ts';

/** A fault after which the work is tried again later. */
export class SyncSetback extends Error {
  readonly fault: SyncFault;
  /** The member cluster's `Retry-After`, in milliseconds; undefined when it sent none. */
  readonly retryAfterMs: number | undefined;
  constructor(
    reason: SyncFault['reason'],
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options);
    this.fault = { reason, message };
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The member cluster answered 410: it no longer has the requested page or events. */
export class Expired extends Error {}

const statusBytes = 64 * 1024;

/**
 * Turns an answer other than 200 into an error.
 * @param what the request in words, such as `list of pods`
 * @returns Expired for a 410, otherwise a SyncSetback
 */
export async function refusalOf(
  answer: MemberAnswer & { readonly refusedTo?: string },
  cluster: string,
  what: string,
): Promise<Error> {
  const { status } = answer;
  const reason = await reasonOf(answer);
  if (status === 410) return new Expired();
  const where = `the ${what} of cluster "${cluster}"`;
  if (status === 403) {
    const who = answer.refusedTo ?? 'portcullis:index';
    return new SyncSetback(
      'Forbidden',
      `${where} is forbidden to ${who}; an administrator of it runs: ${mendCommand()}`,
    );
  }
  if (status === 404) return new SyncSetback('Missing', `cluster "${cluster}" does not have the ${what} (404)`);
  const retryAfterMs = status === 429 ? retryAfterMsOf(headerValue(answer.headers, 'retry-after')) : undefined;
  const words = `${where} was answered with ${status}${reason === '' ? '' : ` ${reason}`}`;
  return new SyncSetback('Refused', words, { retryAfterMs });
}

/** Turns any error into a {@link SyncSetback}, whose message can be shown to users. */
export function setbackOf(error: unknown, cluster: string, what: string): SyncSetback {
  if (error instanceof SyncSetback) return error;
  if (error instanceof FencedError)
    return new SyncSetback('TakenOver', `cluster "${cluster}" is followed by another process now`, { cause: error });
  if (error instanceof GatewayError) {
    const reason = error.code === 'MEMBER_CREDENTIAL' ? 'Unauthorized' : 'Unavailable';
    // The message must stay the same while nothing changes. Otherwise each attempt would count as a change of state.
    const { message } = (error instanceof BreakerOpen ? error.last : undefined) ?? error;
    return new SyncSetback(reason, message, { cause: error });
  }
  const words = error instanceof MalformedAnswer ? error.message : 'it cannot be read';
  return new SyncSetback('Malformed', `the ${what} of cluster "${cluster}" is not usable: ${words}`, { cause: error });
}

async function reasonOf(answer: MemberAnswer): Promise<string> {
  try {
    const { reason } = readStatus(await readWhole(answer, statusBytes));
    return /^[A-Za-z]{1,64}$/.test(reason) ? reason : '';
  } catch {
    return '';
  }
}
