// Tells the client which clusters are missing from an answer: by Warning headers, an annotation of the list, or a
// Status. Security: callers of these functions pass only clusters that the caller of the gateway may reach. The reasons
// shown are cut to one line and hold no addresses.
import { listed } from '../../../lib/text/listed.ts';
import { GatewayError } from '../../../model/errors.ts';
import type { ErrorCode } from '../../../model/errors.ts';
import { readStatus } from '../../../kube/status.ts';
import { oneLine } from '../../../lib/text/one-line.ts';
import { readWhole } from '../../../routing/members/member-call.ts';
import type { MemberAnswer } from '../../../routing/members/member-call.ts';
import { refusedImpersonation, warningHeader } from '../../../routing/forward/warning.ts';
import { statusObject } from '../../../request/answer/status.ts';

/** A cluster from which there is no usable answer, and why. */
export interface Missing {
  readonly cluster: string;
  /**
   * HTTP status of the error. `code`, `reason` and `message` are the same as in the answer to a request to this cluster
   * alone.
   */
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  /** Values of further `Warning` headers about the gateway's credential in the cluster. */
  readonly warnings: readonly string[];
}

/**
 * Annotation in the metadata of a merged list: a JSON object that maps each missing cluster to `{code, reason,
 * message}`.
 */
export const missingAnnotation = 'search.portcullis.io/missing-clusters';

const maxStatusBytes = 64 * 1024;
const maxMessageLength = 300;
/**
 * Maximum number of Warning headers. When more clusters are missing, only their number is given: the headers of an
 * answer are limited to 1 MiB, and some proxies allow far less.
 */
const maxWarnings = 100;

/**
 * Describes a cluster that is missing because of an error of the gateway. Throws an error that is not a GatewayError
 * again, because it is a fault of the program.
 */
export function missingByError(cluster: string, error: unknown): Missing {
  if (!(error instanceof GatewayError)) throw error;
  // When the hub cannot be asked, it is unknown what the caller may do. So the whole request fails, not just the part
  // for this cluster.
  if (error.code === 'HUB_UNAVAILABLE') throw error;
  const message = oneLine(error.message, maxMessageLength);
  return { cluster, code: error.status, reason: error.reason, message, warnings: [] };
}

/**
 * Describes a cluster that is missing because it answered with a status other than 2xx. The answer's body is read here.
 */
export async function missingByAnswer(cluster: string, answer: MemberAnswer): Promise<Missing> {
  let body = Buffer.alloc(0) as Buffer;
  try {
    body = await readWhole(answer, maxStatusBytes);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
  const { isStatus, reason, message } = readStatus(body);
  return {
    cluster,
    code: answer.status,
    reason: reason.slice(0, 100) || 'Unknown',
    message: oneLine((isStatus && message) || `it answered with status ${answer.status}`, maxMessageLength),
    warnings: answer.status === 403 ? refusedImpersonation(cluster, body) : [],
  };
}

/** `Warning` headers that name each missing cluster, as a flat list of names and values. */
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

/** The missing clusters as JSON, for the annotation {@link missingAnnotation}. */
export function missingText(missing: readonly Missing[]): string {
  const entries = missing.map(({ cluster, code, reason, message }) => [cluster, { code, reason, message }]);
  return JSON.stringify(Object.fromEntries(entries));
}

/**
 * A `metav1.Status` about several clusters. Each cluster is one entry in `details.causes`: `field` is the cluster's
 * name, `reason` and `message` are those of the cluster.
 * @param error gives code, reason and message of the Status itself
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

/**
 * The error when no cluster answered. When all clusters failed with the same HTTP status below 500, the error has that
 * status; otherwise it is MEMBER_UNAVAILABLE.
 */
export function errorOfAll(missing: readonly Missing[]): GatewayError {
  const [first] = missing;
  const named = missing.map(({ cluster, message }) => `cluster "${cluster}": ${message}`);
  const same = missing.every(({ code }) => code === first?.code);
  const code = same ? (codes.get(first?.code ?? 0) ?? 'MEMBER_UNAVAILABLE') : 'MEMBER_UNAVAILABLE';
  return new GatewayError(missing.some((one) => one.code >= 500) ? 'MEMBER_UNAVAILABLE' : code, listed(named, 5, '; '));
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
