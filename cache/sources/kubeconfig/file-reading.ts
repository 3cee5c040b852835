// Reads whole files, and notices when a file is written during the read. The signature of a file is taken from the open
// file handle and not from the path, so that it always belongs to the content that was read.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { unicodeText } from '../../../lib/text/unicode-text.ts';
import { lookAt, signatureOf } from '../../../lib/file-watch.ts';
import { unusable } from '../unusable.ts';

/** Longest token, key or certificate file that is read, in bytes. A longer file is reported as a fault. */
export const maxCredentialBytes = 10 * 1024 * 1024;

/**
 * The text of a file, or `fault`: why it could not be read. `signature` changes when the file changes; it is passed to
 * {@link FileWatch.setFiles}.
 */
export type FileReading =
  | { readonly text: string; readonly signature: string }
  | { readonly fault: string; readonly signature: string };

/**
 * Reads one file, in UTF-8, or in UTF-16 with a byte order mark. A file longer than `maxBytes` gives a fault. Never
 * rejects.
 */
export async function readWhole(file: string, maxBytes: number): Promise<FileReading> {
  try {
    for (let attempt = 0; ; attempt += 1) {
      const reading = await readOnce(file, maxBytes);
      // The file was written during the read, so it is read again. After three attempts the last content is returned;
      // the file watch notices the change later.
      if (reading.complete || attempt === 2) return reading.result;
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
    return { fault: reasons.get(code) ?? `cannot be read (${code})`, signature: await lookAt(file) };
  }
}

/** Reads each file once, with {@link readWhole}. Returns the results by path. */
export async function readAll(files: readonly string[], maxBytes: number): Promise<ReadonlyMap<string, FileReading>> {
  const unique = [...new Set(files)];
  return new Map(await Promise.all(unique.map(async (file) => [file, await readWhole(file, maxBytes)] as const)));
}

/**
 * The text of one of the files that were read.
 * @throws GatewayError CLUSTER_UNUSABLE with the file's name and the reason
 */
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
  // Non-blocking, because opening a named pipe that has no writer would block a thread of the pool for ever.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const before = await handle.stat({ bigint: true });
    const signature = signatureOf(before);
    const failed = (fault: string) => ({ complete: true, result: { fault, signature } });
    if (before.isDirectory()) return failed('is a folder');
    if (!before.isFile()) return failed('is not a regular file; only regular files can be watched for changes');
    if (before.size > maxBytes) return failed(`is larger than ${maxBytes / 1024 / 1024} MiB`);
    const bytes = await handle.readFile();
    const complete = signatureOf(await handle.stat({ bigint: true })) === signature;
    const text = unicodeText(bytes);
    return { complete, result: text === undefined ? { fault: 'is not UTF-8 text', signature } : { text, signature } };
  } finally {
    await handle.close();
  }
}
