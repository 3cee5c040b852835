// The audit log of one gateway: when an event of a request is made, and whether a request may go on that could not be
// recorded. Easy to get wrong: that question is asked before anything is sent to a cluster; afterwards a change has
// happened and its events must be taken.
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import { headerValues } from '../../routing/forward/headers.ts';
import type { AuditConfig } from './config.ts';
import { makeAuditClock } from './clock.ts';
import { eventLine } from './event.ts';
import { startAuditFile } from './sinks/file.ts';
import { count, makeAuditCounts, registerAuditMetrics } from './metrics.ts';
import type { AuditCounts } from './metrics.ts';
import { bodyMetadataReader } from './object.ts';
import { noOverflowPolicy, readOverflowPolicy, whenFull } from './overflow.ts';
import type { OverflowPolicy } from './overflow.ts';
import { auditDecision, readAuditPolicy } from './policy.ts';
import type { AuditPolicy, AuditStage } from './policy.ts';
import type { AuditSink, SinkEvents } from './sinks/sink.ts';
import { openSpool } from './sinks/spool.ts';
import type { Spool } from './sinks/spool.ts';
import { auditedRequest, eventOf, failedAuthentication, plainInfo, responseStatus } from './trail.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { AuditedState } from './trail.ts';
import { startAuditWebhook } from './sinks/webhook.ts';
import { makeWebhookClient } from './sinks/webhook-client.ts';
import type { Authenticated, Observed } from '../exchange.ts';
import type { Log } from '../operations/log.ts';
import type { Reloading } from '../start/reloading.ts';

/** What the chain calls. */
export interface Audit {
  /**
   * The caller is known. Resolves when the request may go on.
   * @throws GatewayError (or rejects with it) AUDIT_UNAVAILABLE when it may not go on unrecorded
   */
  begin(state: Authenticated): Promise<void> | undefined;
  /** The exchange is over. */
  end(state: Observed): void;
}

/** An audit log that runs. */
export interface RunningAudit extends Audit {
  readonly sinks: readonly AuditSink[];
  register(registry: Registry): void;
  /** Stores what is left, or gives up after that time. */
  flush(timeoutMs: number): Promise<void>;
  close(): void;
}

/** What an audit log depends on. */
export interface AuditParts {
  readonly reloading: Reloading;
  readonly log: Log;
  readonly dataDir: string;
  /** Sinks that another process keeps; absent: those of the configuration are opened here. */
  readonly sinks?: readonly AuditSink[];
}

/**
 * Reads policies, opens sinks.
 * @throws ConfigurationError when a policy or a kubeconfig has faults, or a sink cannot be opened
 */
export async function startAudit(config: AuditConfig, parts: AuditParts): Promise<RunningAudit> {
  const { reloading } = parts;
  let policy: AuditPolicy = { rules: [] };
  let overflow: OverflowPolicy = noOverflowPolicy;
  await reloading.add([config.policyFile], (text) => (policy = readAuditPolicy(text, config.policyFile)));
  const { overflowPolicyFile } = config;
  if (overflowPolicyFile !== undefined)
    await reloading.add([overflowPolicyFile], (text) => (overflow = readOverflowPolicy(text, overflowPolicyFile)));
  const names: AuditSink['name'][] = [];
  if (config.log !== undefined) names.push('log');
  if (config.webhook !== undefined) names.push('webhook');
  const counts = makeAuditCounts(names);
  const { sinks, spool, close } =
    parts.sinks === undefined ? await openSinks(config, parts, counts) : opened(parts.sinks);
  const audit = makeAudit({ policy: () => policy, overflow: () => overflow, sinks, counts });
  return {
    ...audit,
    sinks,
    register: (registry) => registerAuditMetrics(registry, counts, () => sinks, spool && (() => spool.bytes)),
    flush: async (timeoutMs) => void (await Promise.all(sinks.map((sink) => sink.flush(timeoutMs)))),
    close() {
      for (const sink of sinks) sink.close();
      close();
    },
  };
}

interface OpenSinks {
  readonly sinks: readonly AuditSink[];
  readonly spool: Spool | undefined;
  close(): void;
}

function opened(sinks: readonly AuditSink[]): OpenSinks {
  return { sinks, spool: undefined, close: () => undefined };
}

async function openSinks(
  { log: logConfig, webhook }: AuditConfig,
  { log, dataDir }: AuditParts,
  counts: AuditCounts,
): Promise<OpenSinks> {
  const events = (name: AuditSink['name']): SinkEvents => ({
    failing(error) {
      count(counts.failed, name);
      log.error({ sink: name, err: error }, 'audit events cannot be stored; they are kept and tried again');
    },
    recovered: () => log.info({ sink: name }, 'audit events are stored again'),
    lost(many, error) {
      count(counts.lost, name, many);
      log.error({ sink: name, events: many, err: error }, 'audit events are lost');
    },
  });
  const open = <T>(flag: string, what: string, make: () => T): T => {
    try {
      return make();
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown fault';
      throw new ConfigurationError([{ file: flag, message: `${what} cannot be written: ${code}` }]);
    }
  };
  const sinks: AuditSink[] = [];
  if (logConfig !== undefined) {
    sinks.push(open('--audit-log-path', logConfig.path, () => startAuditFile({ ...logConfig, events: events('log') })));
  }
  if (webhook === undefined) return { sinks, spool: undefined, close: () => undefined };
  const client = await makeWebhookClient(webhook.configFile, (problem) => {
    if (problem === undefined) log.info({}, 'the kubeconfig of the audit webhook is good again');
    else log.error({ fault: problem }, 'the kubeconfig of the audit webhook has a problem; the last good one is kept');
  });
  const folder = join(dataDir, 'audit-spool');
  const spool = open('--data-dir', folder, () => openSpool(folder, webhook.spoolBytes));
  const { mode, batch, initialBackoffMs } = webhook;
  sinks.push(startAuditWebhook({ mode, batch, initialBackoffMs, send: client.send, spool, events: events('webhook') }));
  return { sinks, spool, close: () => client.close() };
}

/** What decides and where it goes; see {@link makeAudit}. */
export interface AuditRules {
  readonly policy: () => AuditPolicy;
  readonly overflow: () => OverflowPolicy;
  readonly sinks: readonly AuditSink[];
  readonly counts: AuditCounts;
}

/** The rules of auditing over sinks that are open. */
export function makeAudit({ policy, overflow, sinks, counts }: AuditRules): Audit {
  const timestamp = makeAuditClock();
  const isAccepting = (): boolean => sinks.every((sink) => sink.accepting);

  const store = (line: string, mustStore: boolean): Promise<boolean>[] => {
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
  };

  const make = (state: AuditedState, trail: AuditTrail, stage: AuditStage): Promise<boolean>[] => {
    if (trail.decision.omitStages.has(stage)) return [];
    const status = stage === 'RequestReceived' ? undefined : responseStatus(state);
    return store(eventLine(eventOf(state, trail, stage, status, timestamp(performance.now()))), trail.mustStore);
  };

  const started = (state: AuditedState, trail: AuditTrail): void => {
    if (trail.started) return;
    trail.started = true;
    make(state, trail, 'ResponseStarted');
  };

  /**
   * A request without an identity has one event when it is answered, at stage ResponseStarted
   * (endpoints/filters/authn_audit.go).
   */
  const unauthenticated = (state: AuditedState): void => {
    const { error } = state.observation;
    if (!(error instanceof GatewayError && error.code === 'UNAUTHENTICATED') || state.surface === undefined) return;
    const info = plainInfo(state);
    const decision = auditDecision(policy(), auditedRequest(state, info, undefined));
    countLevel(counts, decision !== undefined);
    if (decision === undefined || decision.omitStages.has('ResponseStarted')) return;
    const trail = { info, receivedTimestamp: timestamp(state.receivedAtMs), body: undefined };
    const status = failedAuthentication(state);
    store(eventLine(eventOf(state, trail, 'ResponseStarted', status, timestamp(performance.now()))), false);
  };

  return {
    begin(state) {
      const info = plainInfo(state);
      const request = auditedRequest(state, info, state.caller);
      const decision = auditDecision(policy(), request);
      countLevel(counts, decision !== undefined);
      if (decision === undefined) return undefined;
      const mustStore = whenFull(overflow(), request, state.upgrade !== undefined) === 'block';
      if (mustStore && !isAccepting()) {
        counts.refused += 1;
        throw notRecorded();
      }
      const { observation, progress } = state;
      const body = readsBody(state)
        ? bodyMetadataReader(headerValues(state.inbound.headers, 'content-type')[0])
        : undefined;
      const receivedTimestamp = timestamp(state.receivedAtMs);
      const trail: AuditTrail = { decision, request, info, mustStore, receivedTimestamp, body, started: false };
      observation.audit = trail;
      if (observation.longRunning) progress.onAnswering = () => started(state, trail);
      const stored = make(state, trail, 'RequestReceived');
      if (stored.length === 0) return undefined;
      return Promise.all(stored).then((all) => {
        if (!mustStore || all.every(Boolean)) return;
        counts.refused += 1;
        throw notRecorded();
      });
    },
    end(observed) {
      const state = observed as AuditedState;
      const { audit: trail, longRunning, error } = state.observation;
      if (trail === undefined) {
        unauthenticated(state);
        return;
      }
      // In place of Go's panic: a fault of ours, of which nobody knows how far it came.
      if (error instanceof GatewayError && error.code === 'INTERNAL') {
        make(state, trail, 'Panic');
        return;
      }
      if (longRunning) started(state, trail);
      make(state, trail, 'ResponseComplete');
    },
  };
}

function countLevel(counts: AuditCounts, isRecorded: boolean): void {
  if (isRecorded) counts.metadata += 1;
  else counts.none += 1;
}

/**
 * Requests whose object kube-apiserver reads for its audit log: creates and updates, but for those it only connects.
 */
function readsBody({ surface, info, inbound, observation }: Authenticated): boolean {
  return (
    surface.kind === 'member' &&
    inbound.body !== 'none' &&
    info.isResource &&
    (info.verb === 'create' || info.verb === 'update') &&
    !observation.longRunning
  );
}

function notRecorded(): GatewayError {
  return new GatewayError(
    'AUDIT_UNAVAILABLE',
    'the audit log takes no events now, and this request is not let through unrecorded; nothing was sent to a cluster: ask again later, or tell the operator of the gateway',
  );
}
