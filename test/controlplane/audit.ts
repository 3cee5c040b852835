// Reads a kube-apiserver's audit log. Easy to get wrong: the server writes an event after it has answered, so a test
// that looks at once may be too early; `waitForAudit` looks until enough events are there.
import { open, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

import type { AuditEvent } from './fixture-types.ts';

/** What every member's audit policy says: who asked what as whom, once a stage that has an answer. */
export const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
};

/** Bytes in the log now; 0 when it does not exist yet. */
export async function auditMark(file: string): Promise<number> {
  return (await stat(file).catch(() => ({ size: 0 }))).size;
}

/**
 * Complete events that begin at byte `mark` or behind it: the size of a file may be that of half a write, and then a
 * mark is inside of a line.
 */
export async function readAudit(file: string, mark = 0): Promise<readonly AuditEvent[]> {
  const size = await auditMark(file);
  if (size <= mark) return [];
  const start = Math.max(0, mark - 1);
  const handle = await open(file);
  try {
    const buffer = Buffer.alloc(size - start);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
    const bytes = buffer.subarray(0, bytesRead);
    const text = (mark === 0 ? bytes : bytes.subarray(bytes.indexOf('\n') + 1)).toString('utf8');
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    return complete
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as AuditEvent);
  } finally {
    await handle.close();
  }
}

/** Polls until `count` events match; the error lists what was there instead. */
export async function waitForAudit(
  file: string,
  match: (event: AuditEvent) => boolean,
  options: { readonly mark?: number; readonly count?: number; readonly timeoutMs?: number } = {},
): Promise<readonly AuditEvent[]> {
  const count = options.count ?? 1;
  const deadline = Date.now() + (options.timeoutMs ?? 10_000);
  for (;;) {
    const events = await readAudit(file, options.mark);
    const found = events.filter(match);
    if (found.length >= count) return found;
    if (Date.now() > deadline) {
      const seen = events.slice(-20).map((event) => `  ${event.verb} ${event.requestURI} ${event.user.username ?? ''}`);
      throw new Error(`${found.length} of ${count} audit events after the deadline; last seen:\n${seen.join('\n')}`);
    }
    await delay(50);
  }
}
