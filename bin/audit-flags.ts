// The audit flags of `portcullis serve`, with kube-apiserver's names. The defaults shown in --help come from the code
// that reads the configuration.
import type { Command } from 'commander';
import { auditDefaults } from '../config/sections/audit-config.ts';

/** Adds the audit flags. Their values are checked later, with the rest of the configuration. */
export function addAuditFlags(command: Command): Command {
  const flag = (flags: string, description: string, name: keyof typeof auditDefaults): void =>
    void command.option(flags, `${description} (default: ${auditDefaults[name]})`);
  command
    .option('--audit-policy-file <file>', 'what is audited: audit.k8s.io/v1 Policy, levels None and Metadata; watched')
    .option(
      '--audit-overflow-policy-file <file>',
      'which requests are refused while events cannot be stored (default: those that may change something)',
    )
    .option('--audit-log-path <file>', 'file for events, one a line; "-" for standard output');
  flag('--audit-log-maxage <days>', 'how long rotated files are kept; 0: no limit', 'auditLogMaxage');
  flag('--audit-log-maxbackup <n>', 'how many rotated files are kept; 0: no limit', 'auditLogMaxbackup');
  flag('--audit-log-maxsize <MiB>', 'size at which the file is rotated; 0: never', 'auditLogMaxsize');
  command.option('--audit-webhook-config-file <file>', 'kubeconfig whose server gets events by POST; watched');
  flag('--audit-webhook-mode <mode>', 'batch, or blocking: requests wait for the webhook', 'auditWebhookMode');
  flag('--audit-webhook-batch-buffer-size <n>', 'events that wait in memory', 'auditWebhookBatchBufferSize');
  flag('--audit-webhook-batch-max-size <n>', 'events in one batch', 'auditWebhookBatchMaxSize');
  flag('--audit-webhook-batch-max-wait <duration>', 'longest wait for a batch to fill', 'auditWebhookBatchMaxWait');
  flag('--audit-webhook-batch-throttle-qps <n>', 'batches a second; 0: no limit', 'auditWebhookBatchThrottleQps');
  flag('--audit-webhook-batch-throttle-burst <n>', 'batches at once', 'auditWebhookBatchThrottleBurst');
  flag('--audit-webhook-initial-backoff <duration>', 'first wait after a failure', 'auditWebhookInitialBackoff');
  flag('--audit-webhook-spool-maxsize <MiB>', 'what waits on disk, in the data dir', 'auditWebhookSpoolMaxsize');
  return command;
}
