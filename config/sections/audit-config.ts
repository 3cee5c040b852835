// Configuration of the audit log, with kube-apiserver's flags and defaults. A sink without a policy would record
// nothing: kube-apiserver only logs a warning about it, but here it is a fault of the configuration.
import { resolve } from 'node:path';
import { z } from 'zod';
import { longestTimerMs, parseDuration } from '../../lib/duration.ts';
import { flagOf } from '../values/values.ts';
import type { Fault, Given } from '../values/values.ts';

/** Where audit events are written and which policies apply. Paths are absolute. */
export interface AuditConfig {
  readonly policyFile: string;
  /**
   * File with the policy for requests that arrive while audit events cannot be stored. When undefined, changes are
   * refused and reads go on.
   */
  readonly overflowPolicyFile: string | undefined;
  readonly log: AuditLogConfig | undefined;
  readonly webhook: AuditWebhookConfig | undefined;
}

/** The values of the flags `--audit-log-*`. */
export interface AuditLogConfig {
  /** File to write to; `-` is standard output. */
  readonly path: string;
  readonly maxAgeDays: number;
  readonly maxBackups: number;
  readonly maxSizeBytes: number;
}

/** The values of the flags `--audit-webhook-batch-*`, with kube-apiserver's meaning. */
export interface BatchOptions {
  /** How many events may wait in memory. When the next batch would exceed it, the batch is written to disk. */
  readonly bufferSize: number;
  readonly maxSize: number;
  readonly maxWaitMs: number;
  /** Maximum number of batches sent per second; 0 means no limit. */
  readonly throttleQps: number;
  readonly throttleBurst: number;
}

/** The values of the flags `--audit-webhook-*`. */
export interface AuditWebhookConfig {
  /** Path of a kubeconfig that names the webhook's server and credentials. */
  readonly configFile: string;
  readonly mode: 'batch' | 'blocking';
  readonly batch: BatchOptions;
  readonly initialBackoffMs: number;
  /**
   * How many bytes of events may wait on disk while the webhook fails. When they and the room in memory are used up,
   * the overflow policy decides about new requests.
   */
  readonly spoolBytes: number;
}

/**
 * kube-apiserver's defaults (pkg/server/options/audit.go), and a default for auditWebhookSpoolMaxsize, which
 * kube-apiserver does not have: only the gateway can store events on disk while the webhook fails.
 */
export const auditDefaults = {
  auditLogMaxage: 366,
  auditLogMaxbackup: 100,
  auditLogMaxsize: 100,
  auditWebhookMode: 'batch',
  auditWebhookBatchBufferSize: 10_000,
  auditWebhookBatchMaxSize: 400,
  auditWebhookBatchMaxWait: '30s',
  auditWebhookBatchThrottleQps: 10,
  auditWebhookBatchThrottleBurst: 15,
  auditWebhookInitialBackoff: '10s',
  auditWebhookSpoolMaxsize: 100,
} as const;

const text = z.string().min(1).optional();
const numeric = z.union([z.number(), z.string().min(1)]).optional();

/** Schema of the audit settings in the configuration file. */
export const auditFileFields = {
  auditPolicyFile: text,
  auditOverflowPolicyFile: text,
  auditLogPath: text,
  auditLogMaxage: numeric,
  auditLogMaxbackup: numeric,
  auditLogMaxsize: numeric,
  auditWebhookConfigFile: text,
  auditWebhookMode: text,
  auditWebhookBatchBufferSize: numeric,
  auditWebhookBatchMaxSize: numeric,
  auditWebhookBatchMaxWait: text,
  auditWebhookBatchThrottleQps: numeric,
  auditWebhookBatchThrottleBurst: numeric,
  auditWebhookInitialBackoff: text,
  auditWebhookSpoolMaxsize: numeric,
};
export type AuditInput = Given<typeof auditFileFields>;

type PathName = 'auditPolicyFile' | 'auditOverflowPolicyFile' | 'auditLogPath' | 'auditWebhookConfigFile';
type NumberName = {
  [K in keyof typeof auditDefaults]: (typeof auditDefaults)[K] extends number ? K : never;
}[keyof typeof auditDefaults];

const megabyte = 1024 * 1024;

/** Returns the audit settings out of all settings; settings that the operator did not give are left out. */
export function auditInput(written: AuditInput): AuditInput {
  const names = Object.keys(auditFileFields) as (keyof AuditInput)[];
  return Object.fromEntries(names.filter((name) => written[name] !== undefined).map((name) => [name, written[name]]));
}

/**
 * Reads the audit configuration; undefined when nothing is to be audited. `fault` is called for each setting that is
 * wrong.
 * @param folder folder to which relative paths in the configuration file refer. Relative paths in flags refer to the
 * working directory
 */
export function readAuditConfig(
  flags: AuditInput,
  file: AuditInput,
  folder: string,
  fault: Fault,
): AuditConfig | undefined {
  const path = (name: PathName): string | undefined => {
    const written = flags[name] ?? file[name];
    if (written === undefined || written === '') return undefined;
    if (name === 'auditLogPath' && written === '-') return written;
    return flags[name] === undefined ? resolve(folder, written) : resolve(written);
  };
  const given: AuditInput = { ...file, ...flags };
  const policyFile = path('auditPolicyFile');
  const overflowPolicyFile = path('auditOverflowPolicyFile');
  const logPath = path('auditLogPath');
  const webhookFile = path('auditWebhookConfigFile');
  const log = logPath === undefined ? undefined : readLog(given, logPath, fault);
  const webhook = webhookFile === undefined ? undefined : readWebhook(given, webhookFile, fault);
  const hasSink = log !== undefined || webhook !== undefined;
  if (policyFile !== undefined && hasSink) return Object.freeze({ policyFile, overflowPolicyFile, log, webhook });
  if (policyFile !== undefined)
    fault(
      '--audit-policy-file',
      'says what to record but not where to: give --audit-log-path or --audit-webhook-config-file',
    );
  else if (hasSink)
    fault(
      logPath === undefined ? '--audit-webhook-config-file' : '--audit-log-path',
      'records nothing without --audit-policy-file',
    );
  else if (overflowPolicyFile !== undefined) fault('--audit-overflow-policy-file', 'needs --audit-policy-file');
  return undefined;
}

function readLog(given: AuditInput, path: string, fault: Fault): AuditLogConfig {
  return {
    path,
    maxAgeDays: numberOf(given, 'auditLogMaxage', 0, fault),
    maxBackups: numberOf(given, 'auditLogMaxbackup', 0, fault),
    maxSizeBytes: numberOf(given, 'auditLogMaxsize', 0, fault) * megabyte,
  };
}

function readWebhook(given: AuditInput, configFile: string, fault: Fault): AuditWebhookConfig {
  const mode = given.auditWebhookMode ?? auditDefaults.auditWebhookMode;
  if (mode !== 'batch' && mode !== 'blocking') {
    const more =
      mode === 'blocking-strict' ? '; what happens when the webhook fails is said by --audit-overflow-policy-file' : '';
    fault('--audit-webhook-mode', `must be "batch" or "blocking"${more}`);
  }
  return {
    configFile,
    mode: mode === 'blocking' ? 'blocking' : 'batch',
    batch: {
      bufferSize: numberOf(given, 'auditWebhookBatchBufferSize', 1, fault),
      maxSize: numberOf(given, 'auditWebhookBatchMaxSize', 1, fault),
      maxWaitMs: durationOf(given, 'auditWebhookBatchMaxWait', fault),
      throttleQps: numberOf(given, 'auditWebhookBatchThrottleQps', 0, fault),
      throttleBurst: numberOf(given, 'auditWebhookBatchThrottleBurst', 1, fault),
    },
    initialBackoffMs: durationOf(given, 'auditWebhookInitialBackoff', fault),
    spoolBytes: numberOf(given, 'auditWebhookSpoolMaxsize', 0, fault) * megabyte,
  };
}

function numberOf(given: AuditInput, name: NumberName, least: number, fault: Fault): number {
  const written = given[name] ?? auditDefaults[name];
  const value = typeof written === 'string' && !/^\d{1,9}$/.test(written) ? Number.NaN : Number(written);
  if (Number.isInteger(value) && value >= least) return value;
  fault(flagOf(name), `"${written}" is not a whole number of at least ${least}`);
  return least;
}

function durationOf(
  given: AuditInput,
  name: 'auditWebhookBatchMaxWait' | 'auditWebhookInitialBackoff',
  fault: Fault,
): number {
  const written = given[name] ?? auditDefaults[name];
  const value = parseDuration(written);
  if (value === undefined || value === 0 || value > longestTimerMs)
    fault(flagOf(name), `"${written}" is not a duration up to 24 days, for example 10s or 1m30s`);
  return value ?? 0;
}
