// Configuration of the audit log, with kube-apiserver's flags and defaults. A sink without a policy would record
// nothing: kube-apiserver only logs a warning about it, but here it is a fault of the configuration.
import { z } from 'zod';
import { duration, oneOf, pathOr, whole } from '../settings/kinds.ts';
import { readSettings } from '../settings/settings.ts';
import type { Kind, Settings, Values, Written } from '../settings/settings.ts';

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

/** The most that a timer of Node waits is 24.8 days. */
const delay = duration({ least: '1ms', most: '576h' });

const modes = oneOf('batch', 'blocking');
/**
 * The mode of the webhook. kube-apiserver's `blocking-strict`, which refuses requests when the webhook fails, is not
 * accepted: here the overflow policy decides what happens then.
 */
const webhookMode: Kind<'batch' | 'blocking'> = {
  placeholder: modes.placeholder,
  file: z.string(),
  read: (written, place) =>
    modes.read(written, {
      ...place,
      fault: (message) =>
        place.fault(
          written === 'blocking-strict'
            ? `${message}; what happens when the webhook fails is said by --audit-overflow-policy-file`
            : message,
        ),
    }),
};

/**
 * The audit settings. The defaults are kube-apiserver's (pkg/server/options/audit.go); kube-apiserver has no
 * auditWebhookSpoolMaxsize, since it cannot store events on disk while the webhook fails. As in kube-apiserver, an
 * empty path means that no file is given.
 */
export const auditSettings = {
  auditPolicyFile: {
    kind: pathOr(''),
    otherwise: 'nothing is recorded',
    text: 'what is audited: audit.k8s.io/v1 Policy, levels None and Metadata; watched',
  },
  auditOverflowPolicyFile: {
    kind: pathOr(''),
    otherwise: 'those that may change something',
    text: 'which requests are refused while events cannot be stored; watched',
  },
  auditLogPath: { kind: pathOr('', '-'), text: 'file for events, one a line; `-` for standard output' },
  auditLogMaxage: {
    kind: whole(),
    placeholder: '<days>',
    default: 366,
    text: 'days for which rotated files are kept; `0`: no limit',
  },
  auditLogMaxbackup: { kind: whole(), default: 100, text: 'how many rotated files are kept; `0`: no limit' },
  auditLogMaxsize: {
    kind: whole(),
    placeholder: '<MiB>',
    default: 100,
    text: 'size in MiB at which the file is rotated; `0`: never',
  },
  auditWebhookConfigFile: { kind: pathOr(''), text: 'kubeconfig whose server gets events by POST; watched' },
  auditWebhookMode: {
    kind: webhookMode,
    default: 'batch',
    text: '`batch`, or `blocking`: requests wait until the webhook has their first event',
  },
  auditWebhookBatchBufferSize: { kind: whole({ least: 1 }), default: 10_000, text: 'events that wait in memory' },
  auditWebhookBatchMaxSize: { kind: whole({ least: 1 }), default: 400, text: 'events in one batch' },
  auditWebhookBatchMaxWait: { kind: delay, default: '30s', text: 'longest wait for a batch to fill' },
  auditWebhookBatchThrottleQps: { kind: whole(), default: 10, text: 'batches a second; `0`: no limit' },
  auditWebhookBatchThrottleBurst: { kind: whole({ least: 1 }), default: 15, text: 'batches at once' },
  auditWebhookInitialBackoff: { kind: delay, default: '10s', text: 'first wait after a failure' },
  auditWebhookSpoolMaxsize: {
    kind: whole(),
    placeholder: '<MiB>',
    default: 100,
    text: 'MiB that may wait on disk, in `audit-spool` of the data directory',
  },
} satisfies Settings;

const megabyte = 1024 * 1024;

/**
 * Reads the audit configuration; undefined when nothing is to be audited. `written.fault` is called for each setting
 * that is wrong.
 */
export function readAuditConfig(written: Written): AuditConfig | undefined {
  const given = readSettings(auditSettings, written);
  const policyFile = given.auditPolicyFile || undefined;
  const overflowPolicyFile = given.auditOverflowPolicyFile || undefined;
  const log = logOf(given);
  const webhook = webhookOf(given);
  const hasSink = log !== undefined || webhook !== undefined;
  if (policyFile !== undefined && hasSink) return Object.freeze({ policyFile, overflowPolicyFile, log, webhook });
  if (policyFile !== undefined)
    written.fault(
      '--audit-policy-file',
      'says what to record but not where to: give --audit-log-path or --audit-webhook-config-file',
    );
  else if (hasSink)
    written.fault(
      log === undefined ? '--audit-webhook-config-file' : '--audit-log-path',
      'records nothing without --audit-policy-file',
    );
  else if (overflowPolicyFile !== undefined) written.fault('--audit-overflow-policy-file', 'needs --audit-policy-file');
  return undefined;
}

function logOf(given: Values<typeof auditSettings>): AuditLogConfig | undefined {
  if (!given.auditLogPath) return undefined;
  return {
    path: given.auditLogPath,
    maxAgeDays: given.auditLogMaxage,
    maxBackups: given.auditLogMaxbackup,
    maxSizeBytes: given.auditLogMaxsize * megabyte,
  };
}

function webhookOf(given: Values<typeof auditSettings>): AuditWebhookConfig | undefined {
  if (!given.auditWebhookConfigFile) return undefined;
  return {
    configFile: given.auditWebhookConfigFile,
    mode: given.auditWebhookMode,
    batch: {
      bufferSize: given.auditWebhookBatchBufferSize,
      maxSize: given.auditWebhookBatchMaxSize,
      maxWaitMs: given.auditWebhookBatchMaxWait,
      throttleQps: given.auditWebhookBatchThrottleQps,
      throttleBurst: given.auditWebhookBatchThrottleBurst,
    },
    initialBackoffMs: given.auditWebhookInitialBackoff,
    spoolBytes: given.auditWebhookSpoolMaxsize * megabyte,
  };
}
