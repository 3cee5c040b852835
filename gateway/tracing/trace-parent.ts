// Reads and writes `traceparent` of W3C trace context, level 1
// (https://www.w3.org/TR/trace-context/#traceparent-header). An invalid or repeated header is no parent.
import { headerValues } from '../../routing/forward/headers.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';

/** The span of the caller. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

/** Version 00 exactly; of later versions the parts that version 00 has. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The one valid `traceparent` of a request, or null. */
export function readTraceParent(headers: RawHeaders): TraceParent | null {
  const values = headerValues(headers, 'traceparent');
  if (values.length !== 1) return null;
  const [, version, traceId, spanId, flags, more] = form.exec(values[0]!) ?? [];
  if (traceId === undefined || (version === '00' && more !== undefined)) return null;
  return { traceId, spanId: spanId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

/**
 * The headers of a request with another parent. The caller's `tracestate` stays only with `keepsState`, when the trace
 * is the caller's.
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
