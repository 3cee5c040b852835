// Finds out whether a write request is a dry run (the parameter `dryRun=All`).
import type { Call } from '../call/cluster.ts';
import { invalidOption } from '../model/status-error.ts';

/** The kind that an error message names for options of a write, by verb. For other verbs it is DeleteOptions. */
const optionKinds: Readonly<Record<string, string>> = {
  create: 'CreateOptions',
  update: 'UpdateOptions',
  patch: 'PatchOptions',
};

/**
 * Whether the request is a dry run, which must not change anything.
 * @param fromBody `dryRun` of the DeleteOptions in the body
 * @throws StatusError 422 when `dryRun` has a value other than All
 */
export function isDryRun(call: Call, fromBody: readonly string[] = []): boolean {
  const values = [...call.query.getAll('dryRun').filter((value) => value !== ''), ...fromBody];
  if (values.some((value) => value !== 'All')) {
    const message = `Unsupported value: ${JSON.stringify(values)}: supported values: "All"`;
    const kind = optionKinds[call.info.verb] ?? 'DeleteOptions';
    throw invalidOption(kind, { reason: 'FieldValueNotSupported', message, field: 'dryRun' });
  }
  return values.length > 0;
}
