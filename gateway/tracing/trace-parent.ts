// Reads and writes the header `traceparent` of W3C trace context, level 1
// (https://www.w3.org/TR/trace-context/#traceparent-header). An invalid or repeated header is ignored, as if it were
// absent.
import { headerValues } from '../../http/raw-headers.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';

/** The caller's span, from the header `traceparent`. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

/** Matches a `traceparent` of version 00, and of a later version the fields that it has in common with version 00. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The `traceparent` of a request; null when the request has none, an invalid one or several. */
export function readTraceParent(headers: RawHeaders): TraceParent | null {
  const values = headerValues(headers, 'traceparent');
  if (values.length !== 1) return null;
  const [, version, traceId, spanId, flags, more] = form.exec(values[0]!) ?? [];
  if (traceId === undefined || (version === '00' && more !== undefined)) return null;
  return { traceId, spanId: spanId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

/**
 * The headers, in which `traceparent` now names the given span. `tracestate` stays only when `keepsState` is true; it
 * must be false when the span does not belong to the caller's trace.
 */
export function withTraceParent(
  headers: RawHeaders,
  { traceId, spanId }: Pick<TraceParent, 'traceId' | 'spanId'>,
  keepsState: boolean,
): string[] {
  const next: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    if (name === 'traceparent' || (name === 'tracestate' && !keepsState)) continue;
    next.push(headers[i]!, headers[i + 1]!);
  }
  next.push('traceparent', `00-${traceId}-${spanId}-01`);
  return next;
}
