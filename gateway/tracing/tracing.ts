// Starts tracing: decides which requests are traced, makes their spans and sends them to the collector. This file is
// loaded only when tracing is configured. A request that is not traced costs only a look at its headers.
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, createTraceState, trace } from '@opentelemetry/api';
import type { Context, Span, TimeInput, Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions';
import type { Registry } from 'prom-client';
import { within } from '../../lib/within.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { Authenticated, Located } from '../../request/exchange.ts';
import type { Log } from '../../lib/log.ts';
import { by, registerRead, single } from '../operations/read-metric.ts';
import type { TracingConfig } from '../../config/sections/tracing-config.ts';
import type { MemberTrace, RequestTrace } from '../../request/exchange.ts';
import type { Tracing } from './request-trace.ts';
import { clientSpan, endAttributes, serverSpan } from './span-attributes.ts';
import { SpanQueue } from './span-queue.ts';
import type { SpanCounts } from './span-queue.ts';
import { readTraceParent, withTraceParent } from './trace-parent.ts';

/** Started tracing, with its metrics and the functions to flush and close it. */
export interface RunningTracing extends Tracing {
  register(registry: Registry): void;
  /** Sends all waiting spans; resolves when all have been sent, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  close(): void;
}

/** Other parts of the gateway that tracing needs, and replacements for tests. */
export interface TracingParts {
  readonly log: Log;
  readonly version: string;
  /** Replaces the exporter (OTLP over HTTP) in tests. */
  readonly exporter?: SpanExporter;
  /** Replaces Math.random in tests: returns a number from 0 to below 1. */
  readonly random?: () => number;
}

/** Longest value of one attribute, in characters; longer values, such as long request paths, are cut. */
const longestAttribute = 1024;
/**
 * HTTP statuses from which on a span counts as failed: 500 for a server span, 400 for a client span (OpenTelemetry's
 * HTTP conventions, "Status").
 */
const serverFault = 500;
const clientFault = 400;

const traceParentOf = readOnce(readTraceParent);

/** Starts tracing. No connection is opened before the first span is sent. */
export function startTracing(config: TracingConfig, { log, version, exporter, random }: TracingParts): RunningTracing {
  const counts: SpanCounts = { exported: 0, dropped: 0, failed: 0 };
  const queue = new SpanQueue(exporter ?? new OTLPTraceExporter({ url: config.url }), {
    ...config,
    counts,
    onFailing(error) {
      if (error === undefined) log.info({}, 'spans reach the collector again');
      else log.warn({ collector: new URL(config.url).host, fault: error.message }, 'spans do not reach the collector');
    },
  });
  const provider = new TracerProvider({
    // Every span is kept, because spans are made only for requests that were chosen for tracing.
    sampler: new AlwaysOnSampler(),
    resource: defaultResource()
      .merge(resourceFromAttributes({ [ATTR_SERVICE_NAME]: 'portcullis', [ATTR_SERVICE_VERSION]: version }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanLimits: { attributeValueLengthLimit: longestAttribute },
    spanProcessors: [queue],
  });
  const tracer = provider.getTracer('portcullis', version);
  const draw = random ?? Math.random;
  return {
    begin(state) {
      // Health checks are not traced: load balancers send them every few seconds.
      if (state.surface.kind === 'health') return;
      const parent = traceParentOf(state.inbound.headers);
      const isSampled = parent !== null && config.parentBased ? parent.sampled : draw() < config.ratio;
      if (isSampled) state.observation.trace = new TracedRequest(tracer, state, config.userNames);
    },
    register(registry) {
      registerRead(registry, 'portcullis_trace_spans_total', 'Spans by what became of them.', 'counter', () =>
        by('outcome', Object.entries(counts)),
      );
      registerRead(registry, 'portcullis_trace_spans_waiting', 'Spans that are not sent yet.', 'gauge', () =>
        single(queue.length),
      );
    },
    flush: async (timeoutMs) => void (await within(timeoutMs, queue.forceFlush())),
    // When tracing ends, an error of the exporter no longer matters and is ignored.
    close: () => void provider.shutdown().catch(() => undefined),
  };
}

/** Converts a time of `performance.now()` to the time OpenTelemetry expects: milliseconds since 1970. */
function timeOf(atMs: number): TimeInput {
  return performance.timeOrigin + atMs;
}

class TracedRequest implements RequestTrace {
  readonly #tracer: Tracer;
  readonly #state: Authenticated;
  readonly #keepsState: boolean;
  readonly #span: Span;
  readonly #context: Context;
  #forwarded: MemberTrace | undefined;
  #forwardedSpan: Span | undefined;

  constructor(tracer: Tracer, state: Authenticated, userNames: boolean) {
    const { inbound, receivedAtMs, caller } = state;
    this.#tracer = tracer;
    this.#state = state;
    const parent = traceParentOf(inbound.headers);
    this.#keepsState = parent !== null;
    const { name, attributes } = serverSpan(state);
    this.#span = tracer.startSpan(
      name,
      {
        kind: SpanKind.SERVER,
        startTime: timeOf(receivedAtMs),
        attributes: userNames ? { ...attributes, 'user.name': caller.name } : attributes,
      },
      parent === null
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, {
            traceId: parent.traceId,
            spanId: parent.spanId,
            traceFlags: TraceFlags.SAMPLED,
            traceState: createTraceState(traceStateOf(inbound.headers)),
            isRemote: true,
          }),
    );
    this.#context = trace.setSpan(ROOT_CONTEXT, this.#span);
    inbound.onClose((aborted) => this.#end(aborted));
  }

  memberHeaders(state: Located): RawHeaders {
    this.#forwarded = this.toMember(state.headers, state.record.spec, (span) => (this.#forwardedSpan = span));
    return this.#forwarded.headers;
  }

  toMember(headers: RawHeaders, cluster: ClusterSpec, started?: (span: Span) => void): MemberTrace {
    const { name, attributes } = clientSpan(this.#state, cluster);
    const options = { kind: SpanKind.CLIENT, startTime: timeOf(performance.now()), attributes };
    const span = this.#tracer.startSpan(name, options, this.#context);
    started?.(span);
    return {
      headers: withTraceParent(headers, span.spanContext(), this.#keepsState),
      end: (status, error) => endSpan(span, status, error, clientFault),
    };
  }

  /** Ends all spans of the request when the request has ended, whether completely or cut. */
  #end(aborted: boolean): void {
    const { progress, observation } = this.#state;
    const ending = aborted && progress.ending === 'open' ? 'client-gone' : progress.ending;
    const cut = aborted ? (observation.error ?? ending) : undefined;
    if (this.#forwarded !== undefined) {
      if (progress.sentAtMs !== 0) this.#forwardedSpan?.addEvent('request sent', timeOf(progress.sentAtMs));
      if (progress.firstByteAtMs !== 0) this.#forwardedSpan?.addEvent('answer begun', timeOf(progress.firstByteAtMs));
      // When the gateway itself answered with an error, the status is not the cluster's, so the cluster's span gets no
      // status.
      const ownFault = aborted ? undefined : observation.error;
      this.#forwarded.end(ownFault === undefined ? progress.status : 0, cut ?? ownFault);
    }
    const isOwnFault = observation.error instanceof GatewayError && progress.status >= serverFault;
    endSpan(this.#span, progress.status, cut ?? (isOwnFault ? observation.error : undefined), serverFault);
  }
}

function endSpan(span: Span, status: number, error: unknown, faultFrom: number): void {
  span.setAttributes(endAttributes(status, error, faultFrom));
  if (error !== undefined || status >= faultFrom) {
    span.setStatus({
      code: SpanStatusCode.ERROR,
      // Callers see messages of GatewayError anyway. Security: messages of other errors may contain secrets, so they
      // are left out.
      ...(error instanceof GatewayError ? { message: error.message } : {}),
    });
  }
  span.end(timeOf(performance.now()));
}

function traceStateOf(headers: RawHeaders): string {
  const values: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]!.toLowerCase() === 'tracestate') values.push(headers[i + 1]!);
  }
  return values.join(',');
}
