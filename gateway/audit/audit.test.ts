import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { startAudit } from './audit.ts';
import { readAuditConfig } from '../../config/sections/audit-config.ts';
import { makeLog } from '../../lib/log.ts';
import type { Written } from '../../config/settings/settings.ts';
import { makeReloading } from '../../config/reloading.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

function read(flags: Written['flags'], file: Written['file'] = {}) {
  const faults: string[] = [];
  const config = readAuditConfig({
    flags,
    file,
    folder: '/etc/portcullis',
    fault: (flag, message) => faults.push(`${flag}: ${message}`),
  });
  return { config, faults };
}

test("defaults are kube-apiserver's", () => {
  const { config, faults } = read({ auditPolicyFile: '/p', auditLogPath: '/l', auditWebhookConfigFile: '/w' });
  assert.deepEqual(faults, []);
  assert.deepEqual(config?.log, { path: '/l', maxAgeDays: 366, maxBackups: 100, maxSizeBytes: 100 * 1024 * 1024 });
  assert.deepEqual(config?.webhook, {
    configFile: '/w',
    mode: 'batch',
    batch: { bufferSize: 10_000, maxSize: 400, maxWaitMs: 30_000, throttleQps: 10, throttleBurst: 15 },
    initialBackoffMs: 10_000,
    spoolBytes: 100 * 1024 * 1024,
  });
  assert.equal(read({}).config, undefined);
});

test('a flag wins over the file; paths of the file start at its folder; "-" is no path', () => {
  const { config } = read(
    { auditLogMaxage: '7' },
    { auditPolicyFile: 'policy.yaml', auditLogPath: 'logs/audit.log', auditLogMaxage: 30, auditLogMaxsize: 0 },
  );
  assert.equal(config?.policyFile, '/etc/portcullis/policy.yaml');
  assert.equal(config?.log?.path, '/etc/portcullis/logs/audit.log');
  assert.equal(config?.log?.maxAgeDays, 7);
  assert.equal(config?.log?.maxSizeBytes, 0);
  assert.equal(read({}, { auditPolicyFile: 'p', auditLogPath: '-' }).config?.log?.path, '-');
});

test('settings that record nothing, and wrong numbers, are reported with their flag', () => {
  for (const [flags, message] of [
    [{ auditPolicyFile: '/p' }, /^--audit-policy-file: says what to record but not where to/],
    [{ auditLogPath: '-' }, /^--audit-log-path: records nothing without --audit-policy-file/],
    [{ auditWebhookConfigFile: '/w' }, /^--audit-webhook-config-file: records nothing without/],
    [{ auditOverflowPolicyFile: '/o' }, /^--audit-overflow-policy-file: needs --audit-policy-file/],
    [
      { auditPolicyFile: '/p', auditLogPath: '-', auditLogMaxsize: '-1' },
      /^--audit-log-maxsize: "-1" is not a whole number/,
    ],
    [{ auditPolicyFile: '/p', auditLogPath: '-', auditLogMaxage: 'x' }, /^--audit-log-maxage: "x" is not/],
    [
      { auditPolicyFile: '/p', auditWebhookConfigFile: '/w', auditWebhookBatchMaxWait: '30' },
      /^--audit-webhook-batch-max-wait: "30" is not a duration/,
    ],
    [
      { auditPolicyFile: '/p', auditWebhookConfigFile: '/w', auditWebhookBatchMaxSize: '0' },
      /^--audit-webhook-batch-max-size: "0" is not a whole number of at least 1/,
    ],
    [
      { auditPolicyFile: '/p', auditWebhookConfigFile: '/w', auditWebhookMode: 'blocking-strict' },
      /must be "batch" or "blocking"; what happens when the webhook fails is said by --audit-overflow/,
    ],
  ] as const) {
    const { faults } = read(flags);
    assert.equal(faults.length, 1, JSON.stringify(flags));
    assert.match(faults[0]!, message);
  }
});

test('a policy, file or webhook that cannot be used keeps the gateway from starting', async () => {
  const folder = tempDir('audit');
  const log = makeLog('silent');
  const reloading = makeReloading(log);
  const policyFile = join(folder, 'policy.yaml');
  writeFileSync(policyFile, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n');
  const start = (flags: Written['flags']) =>
    startAudit(read({ auditPolicyFile: policyFile, ...flags }).config!, { reloading, log, dataDir: folder });
  try {
    for (const [flags, message] of [
      [{ auditLogPath: join(policyFile, 'audit.log') }, /--audit-log-path: .*cannot be written: E(?:NOTDIR|EXIST)/],
      [{ auditLogPath: '-', auditPolicyFile: join(folder, 'absent') }, /absent: cannot be read: ENOENT/],
      [{ auditLogPath: '-', auditOverflowPolicyFile: policyFile }, /policy\.yaml:1:1: apiVersion/],
      [{ auditWebhookConfigFile: policyFile }, /policy\.yaml/],
      [{ auditWebhookConfigFile: join(folder, 'absent') }, /absent/],
    ] as const) {
      await assert.rejects(start(flags), (error) => error instanceof ConfigurationError && message.test(error.message));
    }
  } finally {
    reloading.close();
  }
});
