// Reads whole files in one consistent state. The signature of a file is taken from the open file, not from a second
// look at the path, so that it belongs to the content that was read.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { lookAt, signatureOf } from '../../../lib/file-watch.ts';
import { unusable } from '../unusable.ts';

/** Longest token, key or certificate file, in bytes. */
export const maxCredentialBytes = 10 * 1024 * 1024;

/** What reading one file gave: its text, or why there is none; `signature` is for {@link FileWatch.setFiles}. */
export type FileReading =
  | { readonly text: string; readonly signature: string }
  | { readonly fault: string; readonly signature: string };

/** Reads one file as UTF-8, at most `maxBytes` long. Never rejects. */
export async function readWhole(file: string, maxBytes: number): Promise<FileReading> {
  try {
    for (let attempt = 0; ; attempt += 1) {
      const reading = await readOnce(file, maxBytes);
      // Otherwise the file was written during the read. After three tries we take what there is; the watch will see the
      // change.
      if (reading.complete || attempt === 2) return reading.result;
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
    return { fault: reasons.get(code) ?? `cannot be read (${code})`, signature: await lookAt(file) };
  }
}

/** Reads each of the files once, as {@link readWhole}. */
export async function readAll(files: readonly string[], maxBytes: number): Promise<ReadonlyMap<string, FileReading>> {
  const unique = [...new Set(files)];
  return new Map(await Promise.all(unique.map(async (file) => [file, await readWhole(file, maxBytes)] as const)));
}

/** Looks a file up among those that were read. @throws GatewayError CLUSTER_UNUSABLE naming file and reason */
export function textOf(files: ReadonlyMap<string, FileReading>, file: string): string {
  const reading = files.get(file) ?? { fault: 'was not read', signature: '' };
  if ('fault' in reading) throw unusable(`${file}: ${reading.fault}`);
  return reading.text;
}

const reasons: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'no such file'],
  ['ENOTDIR', 'no such file'],
  ['EACCES', 'permission denied'],
  ['EISDIR', 'is a folder'],
]);

async function readOnce(
  file: string,
  maxBytes: number,
): Promise<{ readonly complete: boolean; readonly result: FileReading }> {
  // Non-blocking: opening a pipe nobody writes to would hold a thread for ever.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const before = await handle.stat({ bigint: true });
    const signature = signatureOf(before);
    const failed = (fault: string) => ({ complete: true, result: { fault, signature } });
    if (before.isDirectory()) return failed('is a folder');
    if (!before.isFile()) return failed('is not a regular file, and only those can be watched for changes');
    if (before.size > maxBytes) return failed(`is larger than ${maxBytes / 1024 / 1024} MiB`);
    const bytes = await handle.readFile();
    const complete = signatureOf(await handle.stat({ bigint: true })) === signature;
    try {
      return { complete, result: { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), signature } };
    } catch {
      return { complete, result: { fault: 'is not UTF-8 text', signature } };
    }
  } finally {
    await handle.close();
  }
}
