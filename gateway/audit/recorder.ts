// Writes the audit events of requests, and refuses a request whose events could not be stored. The refusal must come
// before anything is sent to a cluster: once a change has happened, its events must be stored.
import { GatewayError } from '../../model/errors.ts';
import { headerValues } from '../../http/raw-headers.ts';
import { pathInCluster } from '../../request/proxying-request.ts';
import type { Authenticated, Observed } from '../../request/exchange.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import type { AuditStage, AuditTrail, AuditedRequest } from '../../request/audit-trail.ts';
import { makeAuditClock } from './clock.ts';
import { eventLine } from './event.ts';
import type { AuditEvent } from './event.ts';
import { count } from './metrics.ts';
import type { AuditCounts } from './metrics.ts';
import { bodyMetadataReader } from './object.ts';
import { whenFull } from './overflow.ts';
import type { OverflowPolicy } from './overflow.ts';
import { auditDecision } from './policy.ts';
import type { AuditPolicy } from './policy.ts';
import type { AuditSink } from './sinks/sink.ts';
import { auditedRequest, eventOf, failedAuthentication, plainInfo, responseStatus } from './trail.ts';
import type { AuditedState } from './trail.ts';

/** Policies, sinks and counters of the audit log. */
export interface AuditRules {
  readonly policy: () => AuditPolicy;
  readonly overflow: () => OverflowPolicy;
  readonly sinks: readonly AuditSink[];
  readonly counts: AuditCounts;
}

/**
 * The fields of an audit event that are known before the answer, for a request that the gateway itself sends to a
 * cluster.
 */
export type OwnEvent = Omit<AuditEvent, 'stage' | 'responseStatus' | 'requestReceivedTimestamp' | 'stageTimestamp'>;

/** The audit log as the request chain uses it. */
export type Audit = Pick<AuditRecorder, keyof AuditRecorder>;

/** Writes the audit events of requests to all sinks. */
export class AuditRecorder {
  readonly #rules: AuditRules;
  readonly #timestamp = makeAuditClock();

  constructor(rules: AuditRules) {
    this.#rules = rules;
  }

  /**
   * Called when the caller is known. Returns undefined when the request may go on at once, otherwise a promise that
   * resolves when the request may go on.
   * @throws GatewayError (or rejects with it) AUDIT_UNAVAILABLE when the events cannot be stored and the policy forbids
   * that the request goes on unrecorded
   */
  begin(state: Authenticated): Promise<void> | undefined {
    const { policy, overflow, sinks, counts } = this.#rules;
    const info = plainInfo(state);
    const request = auditedRequest(state, info, state.caller);
    const decision = auditDecision(policy(), request);
    countLevel(counts, decision !== undefined);
    if (decision === undefined) return undefined;
    const mustStore = whenFull(overflow(), request, state.upgrade !== undefined) === 'block';
    if (mustStore && !sinks.every((sink) => sink.accepting)) throw this.#notRecorded();
    const { observation, progress } = state;
    const body = readsBody(state, info)
      ? bodyMetadataReader(headerValues(state.inbound.headers, 'content-type')[0])
      : undefined;
    const receivedTimestamp = this.#timestamp(state.receivedAtMs);
    const trail: AuditTrail = { decision, request, info, mustStore, receivedTimestamp, body, started: false };
    observation.audit = trail;
    if (observation.longRunning) progress.onAnswering = () => this.#started(state, trail);
    const stored = this.#make(state, trail, 'RequestReceived');
    if (stored.length === 0) return undefined;
    return Promise.all(stored).then((all) => {
      if (mustStore && !all.every(Boolean)) throw this.#notRecorded();
    });
  }

  /** Called when the answer has ended; writes the last events. */
  end(observed: Observed): void {
    const state = observed as AuditedState;
    const { audit: trail, longRunning, error } = state.observation;
    if (trail === undefined) {
      this.#unauthenticated(state);
      return;
    }
    // kube-apiserver writes an event of stage Panic when a handler panics. A GatewayError INTERNAL is treated the same
    // way: nobody knows which part of the request was carried out.
    if (error instanceof GatewayError && error.code === 'INTERNAL') {
      this.#make(state, trail, 'Panic');
      return;
    }
    if (longRunning) this.#started(state, trail);
    this.#make(state, trail, 'ResponseComplete');
  }

  /**
   * Called before the gateway itself writes to a cluster on behalf of a user. Returns a function to call after the
   * write with the HTTP status of the cluster's answer, or with 0 when there was no answer: it records the single audit
   * event of the write.
   * @throws GatewayError AUDIT_UNAVAILABLE as {@link begin}
   */
  own(request: AuditedRequest, event: OwnEvent): (code: number) => void {
    const { policy, overflow, sinks, counts } = this.#rules;
    const decision = auditDecision(policy(), request);
    countLevel(counts, decision !== undefined);
    if (decision === undefined || decision.omitStages.has('ResponseComplete')) return () => undefined;
    const mustStore = whenFull(overflow(), request, false) === 'block';
    if (mustStore && !sinks.every((sink) => sink.accepting)) throw this.#notRecorded();
    const requestReceivedTimestamp = this.#timestamp(performance.now());
    return (code) => {
      const stageTimestamp = this.#timestamp(performance.now());
      const responseStatus = code === 0 ? { status: 'Failure' as const, message: 'no answer', code: 504 } : { code };
      const whole = {
        ...event,
        stage: 'ResponseComplete' as const,
        responseStatus,
        requestReceivedTimestamp,
        stageTimestamp,
      };
      this.#store(eventLine(whole), mustStore);
    };
  }

  #started(state: AuditedState, trail: AuditTrail): void {
    if (trail.started) return;
    trail.started = true;
    this.#make(state, trail, 'ResponseStarted');
  }

  /**
   * Writes the single event of a request whose authentication failed. Its stage is ResponseStarted, as in
   * kube-apiserver (endpoints/filters/authn_audit.go).
   */
  #unauthenticated(state: AuditedState): void {
    const { error } = state.observation;
    if (!(error instanceof GatewayError && error.code === 'UNAUTHENTICATED') || state.surface === undefined) return;
    const { policy, counts } = this.#rules;
    const info = plainInfo(state);
    const decision = auditDecision(policy(), auditedRequest(state, info, undefined));
    countLevel(counts, decision !== undefined);
    if (decision === undefined || decision.omitStages.has('ResponseStarted')) return;
    const trail = { info, receivedTimestamp: this.#timestamp(state.receivedAtMs), body: undefined };
    const status = failedAuthentication(state);
    this.#store(eventLine(eventOf(state, trail, 'ResponseStarted', status, this.#timestamp(performance.now()))), false);
  }

  #make(state: AuditedState, trail: AuditTrail, stage: AuditStage): Promise<boolean>[] {
    if (trail.decision.omitStages.has(stage)) return [];
    const status = stage === 'RequestReceived' ? undefined : responseStatus(state);
    const event = eventOf(state, trail, stage, status, this.#timestamp(performance.now()));
    return this.#store(eventLine(event), trail.mustStore);
  }

  #store(line: string, mustStore: boolean): Promise<boolean>[] {
    const { sinks, counts } = this.#rules;
    counts.events += 1;
    const stored: Promise<boolean>[] = [];
    for (const sink of sinks) {
      if (!mustStore && !sink.accepting) {
        count(counts.dropped, sink.name);
        continue;
      }
      const promise = sink.write(line);
      if (promise !== undefined) stored.push(promise);
    }
    return stored;
  }

  #notRecorded(): GatewayError {
    this.#rules.counts.refused += 1;
    return new GatewayError(
      'AUDIT_UNAVAILABLE',
      'the audit log cannot store events now, and this request must not go on unrecorded; nothing was sent to a cluster: try again later, or tell the operator of the gateway',
    );
  }
}

function countLevel(counts: AuditCounts, isRecorded: boolean): void {
  if (isRecorded) counts.metadata += 1;
  else counts.none += 1;
}

/**
 * Whether the audit log reads the object in the body of this request. kube-apiserver does so for creates and updates of
 * resources, but not for exec, attach, port-forward and proxy.
 */
function readsBody(state: Authenticated, { isResource, verb }: RequestInfo): boolean {
  return (
    pathInCluster(state) !== undefined &&
    state.inbound.body !== 'none' &&
    isResource &&
    (verb === 'create' || verb === 'update') &&
    !state.observation.longRunning
  );
}
