// Starts the audit log of a gateway: reads the policy files, opens the sinks (file, webhook) and makes the recorder
// that writes to them.
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import type { AuditConfig } from '../../config/sections/audit-config.ts';
import { AuditFile } from './sinks/file.ts';
import { count, makeAuditCounts, registerAuditMetrics } from './metrics.ts';
import type { AuditCounts } from './metrics.ts';
import { noOverflowPolicy, readOverflowPolicy } from './overflow.ts';
import type { OverflowPolicy } from './overflow.ts';
import { readAuditPolicy } from './policy.ts';
import type { AuditPolicy } from './policy.ts';
import { AuditRecorder } from './recorder.ts';
import type { Audit } from './recorder.ts';
import type { AuditSink, SinkEvents } from './sinks/sink.ts';
import { Spool } from './sinks/spool.ts';
import { AuditWebhook } from './sinks/webhook.ts';
import { makeWebhookClient } from './sinks/webhook-client.ts';
import type { Log } from '../../lib/log.ts';
import type { Reloading } from '../../config/reloading.ts';

/** A started audit log, with its metrics and the functions to flush and close it. */
export interface RunningAudit extends Audit {
  readonly sinks: readonly AuditSink[];
  register(registry: Registry): void;
  /** Resolves when all events are stored, or after `timeoutMs`, whichever comes first. */
  flush(timeoutMs: number): Promise<void>;
  close(): void;
}

/** Other parts of the gateway that the audit log needs, in addition to its configuration. */
export interface AuditParts {
  readonly reloading: Reloading;
  readonly log: Log;
  readonly dataDir: string;
  /**
   * Sinks that send events to another process. When undefined, this process itself opens the sinks that the
   * configuration names.
   */
  readonly sinks?: readonly AuditSink[] | undefined;
}

/**
 * Starts the audit log.
 * @throws ConfigurationError (rejects) when a policy or a kubeconfig has faults, or a sink cannot be opened
 */
export async function startAudit(config: AuditConfig, parts: AuditParts): Promise<RunningAudit> {
  const { reloading } = parts;
  let policy: AuditPolicy = { rules: [] };
  let overflow: OverflowPolicy = noOverflowPolicy;
  await reloading.add([config.policyFile], (text) => (policy = readAuditPolicy(text, config.policyFile)));
  const { overflowPolicyFile } = config;
  if (overflowPolicyFile !== undefined)
    await reloading.add([overflowPolicyFile], (text) => (overflow = readOverflowPolicy(text, overflowPolicyFile)));
  const counts = countsOf(config);
  const { sinks, spool, close } =
    parts.sinks === undefined ? await openSinks(config, parts, counts) : opened(parts.sinks);
  const recorder = new AuditRecorder({ policy: () => policy, overflow: () => overflow, sinks, counts });
  return {
    begin: (state) => recorder.begin(state),
    end: (state) => recorder.end(state),
    own: (request, event) => recorder.own(request, event),
    ...runningSinks({ sinks, spool, close }, counts),
  };
}

/** Open sinks without a recorder, for a process that only stores events which other processes make. */
export type RunningSinks = Omit<RunningAudit, keyof Audit>;

/**
 * Opens the sinks without a recorder: worker processes make the audit events and send them to this process.
 * @throws ConfigurationError (rejects) as {@link startAudit}
 */
export async function startAuditSinks(
  config: AuditConfig,
  parts: Omit<AuditParts, 'reloading'>,
): Promise<RunningSinks> {
  const counts = countsOf(config);
  return runningSinks(await openSinks(config, parts, counts), counts);
}

function countsOf({ log, webhook }: AuditConfig): AuditCounts {
  return makeAuditCounts([
    ...(log === undefined ? [] : ['log' as const]),
    ...(webhook === undefined ? [] : ['webhook' as const]),
  ]);
}

interface OpenSinks {
  readonly sinks: readonly AuditSink[];
  readonly spool: Spool | undefined;
  close(): void;
}

function opened(sinks: readonly AuditSink[]): OpenSinks {
  return { sinks, spool: undefined, close: () => undefined };
}

function runningSinks({ sinks, spool, close }: OpenSinks, counts: AuditCounts): RunningSinks {
  return {
    sinks,
    register: (registry) => registerAuditMetrics(registry, counts, () => sinks, spool && (() => spool.bytes)),
    flush: async (timeoutMs) => void (await Promise.all(sinks.map((sink) => sink.flush(timeoutMs)))),
    close() {
      for (const sink of sinks) sink.close();
      close();
    },
  };
}

async function openSinks(
  { log: logConfig, webhook }: AuditConfig,
  { log, dataDir }: Pick<AuditParts, 'log' | 'dataDir'>,
  counts: AuditCounts,
): Promise<OpenSinks> {
  const events = (name: AuditSink['name']): SinkEvents => ({
    failing(error) {
      count(counts.failed, name);
      log.error({ sink: name, err: error }, 'audit events cannot be stored; they are kept and tried again');
    },
    recovered: () => log.info({ sink: name }, 'audit events can be stored again'),
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
    sinks.push(open('--audit-log-path', logConfig.path, () => new AuditFile({ ...logConfig, events: events('log') })));
  }
  if (webhook === undefined) return { sinks, spool: undefined, close: () => undefined };
  const client = await makeWebhookClient(webhook.configFile, (problem) => {
    if (problem === undefined) log.info({}, 'the kubeconfig of the audit webhook is good again');
    else log.error({ fault: problem }, 'the kubeconfig of the audit webhook has a problem; the last good one is kept');
  });
  const folder = join(dataDir, 'audit-spool');
  const spool = open('--data-dir', folder, () => new Spool(folder, webhook.spoolBytes));
  const { mode, batch, initialBackoffMs } = webhook;
  sinks.push(new AuditWebhook({ mode, batch, initialBackoffMs, send: client.send, spool, events: events('webhook') }));
  return { sinks, spool, close: () => client.close() };
}
