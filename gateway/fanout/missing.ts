// Names the clusters whose part of an answer is missing: by Warnings, by an annotation, or by a Status. Only clusters
// the caller may reach come here. A reason is shown to people, so it holds no address and is cut to one line.
import { GatewayError } from '../../cache/model/errors.ts';
import type { ErrorCode } from '../../cache/model/errors.ts';
import { readWhole } from '../../routing/members/member-call.ts';
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import { refusedImpersonation } from '../../routing/forward/refusals.ts';
import { warningHeader } from '../../routing/forward/warning.ts';
import { statusObject } from '../status.ts';

/** One cluster without a usable answer. */
export interface Missing {
  readonly cluster: string;
  /** Code, reason and message a request to this cluster alone would get: the member's Status, or our own error. */
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** Further `Warning` values, about the gateway's credential there. */
  readonly warnings: readonly string[];
}

/** Annotation of a merged list's metadata: a JSON object, cluster to `{code, reason, message}`. */
export const missingAnnotation = 'search.portcullis.io/missing-clusters';

const maxStatusBytes = 64 * 1024;
const maxMessageLength = 300;
/** Further clusters are only counted: a head has at most 1 MiB, and some proxies take far less. */
const maxWarnings = 100;

/** Makes an entry of our own error about one cluster. Rethrows any error that is not about a cluster. */
export function missingByError(cluster: string, error: unknown): Missing {
  if (!(error instanceof GatewayError)) throw error;
  // Without the hub nobody can decide what the caller may ask, so the whole request fails.
  if (error.code === 'HUB_UNAVAILABLE') throw error;
  return { cluster, code: error.status, reason: error.reason, message: oneLine(error.message), warnings: [] };
}

/** Makes an entry of a member's answer without 2xx, by its Status. */
export async function missingByAnswer(cluster: string, answer: MemberAnswer): Promise<Missing> {
  let body = Buffer.alloc(0) as Buffer;
  try {
    body = await readWhole(answer, maxStatusBytes);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
  const { reason, message } = readStatus(body);
  return {
    cluster,
    code: answer.status,
    reason: reason === '' ? 'Unknown' : reason,
    message: oneLine(message === '' ? `it answered with status ${answer.status}` : message),
    warnings: answer.status === 403 ? refusedImpersonation(cluster, body) : [],
  };
}

function readStatus(body: Buffer): { readonly reason: string; readonly message: string } {
  const nothing = { reason: '', message: '' };
  try {
    const status: unknown = JSON.parse(body.toString('utf8'));
    if (typeof status !== 'object' || status === null || !('kind' in status) || status.kind !== 'Status')
      return nothing;
    const reason = 'reason' in status && typeof status.reason === 'string' ? status.reason.slice(0, 100) : '';
    return { reason, message: 'message' in status && typeof status.message === 'string' ? status.message : '' };
  } catch {
    return nothing;
  }
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > maxMessageLength ? `${line.slice(0, maxMessageLength)}…` : line;
}

/** `Warning` headers that name each cluster, as a flat list. */
export function warningHeaders(missing: readonly Missing[]): string[] {
  const headers: string[] = [];
  for (const { cluster, message, warnings } of missing.slice(0, maxWarnings)) {
    headers.push('Warning', warningHeader(cluster, message));
    for (const warning of warnings) headers.push('Warning', warning);
  }
  if (missing.length > maxWarnings) {
    const rest = `${missing.length - maxWarnings} more clusters are missing; the list's annotation ${missingAnnotation} names them`;
    headers.push('Warning', warningHeader(undefined, rest));
  }
  return headers;
}

/** Value of {@link missingAnnotation}. */
export function missingText(missing: readonly Missing[]): string {
  const entries = missing.map(({ cluster, code, reason, message }) => [cluster, { code, reason, message }]);
  return JSON.stringify(Object.fromEntries(entries));
}

/**
 * `metav1.Status` about several clusters with one cause each: `field` is the cluster, `reason` and `message` are its
 * own.
 * @param error has code, reason and message of the whole
 */
export function statusOfMany(error: GatewayError, causes: readonly Missing[]): object {
  const status = statusObject(error) as { readonly details?: object };
  return {
    ...status,
    details: {
      ...status.details,
      kind: 'clusters',
      group: 'gateway.portcullis.io',
      causes: causes.map(({ cluster, reason, message }) => ({ reason, message, field: cluster })),
    },
  };
}

/** The error when no cluster answered: with the code that all have in common, else MEMBER_UNAVAILABLE. */
export function errorOfAll(missing: readonly Missing[]): GatewayError {
  const [first] = missing;
  const named = missing
    .slice(0, 5)
    .map(({ cluster, message }) => `cluster "${cluster}": ${message}`)
    .join('; ');
  const more = missing.length > 5 ? `; and ${missing.length - 5} more` : '';
  const same = missing.every(({ code }) => code === first?.code);
  const code = same ? (codes.get(first?.code ?? 0) ?? 'MEMBER_UNAVAILABLE') : 'MEMBER_UNAVAILABLE';
  return new GatewayError(missing.some((one) => one.code >= 500) ? 'MEMBER_UNAVAILABLE' : code, `${named}${more}`);
}

const codes: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [400, 'BAD_REQUEST'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [405, 'METHOD_NOT_ALLOWED'],
  [406, 'NOT_ACCEPTABLE'],
  [409, 'CONFLICT'],
  [410, 'EXPIRED'],
  [413, 'TOO_LARGE'],
  [415, 'UNSUPPORTED_MEDIA_TYPE'],
  [422, 'INVALID'],
  [429, 'TOO_MANY_REQUESTS'],
] as const);
