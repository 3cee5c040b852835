// Replaces a file so that readers see either the old or the new content, never a part of it. The file gets mode 0600.
// Easy to get wrong: renaming over a symbolic link replaces the link itself. People keep their kubeconfig as a link
// into a repository of dotfiles, so the file at the end of the link is replaced.
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Failure, usageFailure } from '../terminal/failure.ts';

/**
 * Writes `text` to `path`; if `path` is a link, to the file at its end. The text is written into a temporary file in
 * the same folder, flushed to disk, and renamed. The file gets mode 0600; missing folders are made with 0700.
 * @throws Failure when the file cannot be written; the old file is then unchanged
 */
export function replaceFile(path: string, text: string): void {
  let temporary: string | undefined;
  try {
    const target = linkTarget(resolve(path));
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`);
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, target);
  } catch (error) {
    if (temporary !== undefined) rmSync(temporary, { force: true });
    throw new Failure(`cannot write ${path}: ${codeOf(error)}`, 'Check the path, free space and who may write there.', {
      cause: error,
    });
  }
}

/**
 * Reads, changes and replaces a file while holding `<path>.lock`, the lock that kubectl takes when it changes a
 * kubeconfig (k8s.io/client-go/tools/clientcmd/config.go).
 * @param edit returns the new text for the present text, which is '' when the file does not exist; its errors are
 * passed on
 * @throws Failure when another process has the lock, or the file cannot be read or written
 */
export function editFile(path: string, edit: (text: string) => string): void {
  const lock = `${path}.lock`;
  takeLock(lock);
  try {
    replaceFile(path, edit(readIfPresent(path)));
  } finally {
    rmSync(lock, { force: true });
  }
}

function takeLock(lock: string): void {
  try {
    mkdirSync(dirname(lock), { recursive: true, mode: 0o700 });
    closeSync(openSync(lock, 'wx', 0));
  } catch (error) {
    if (codeOf(error) === 'EEXIST') {
      throw new Failure(
        `${lock} exists: another program is changing this file`,
        'Try again; if nothing is running any more, remove the lock file.',
      );
    }
    throw new Failure(`cannot write ${lock}: ${codeOf(error)}`, 'Check the path and who may write there.', {
      cause: error,
    });
  }
}

/**
 * Returns the text of a file; '' when the file does not exist.
 * @throws Failure (usage) when the file exists and cannot be read
 */
export function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw usageFailure(`cannot read ${path}: ${codeOf(error)}`, 'Check the path and who may read it.', error);
  }
}

/**
 * Returns the path at the end of a chain of symbolic links, even when no file exists there yet.
 * @throws the error of node:fs when the links form a loop
 */
function linkTarget(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  try {
    return linkTarget(resolve(dirname(path), readlinkSync(path)));
  } catch (error) {
    // EINVAL: `path` exists but is no link, because another process has just created it. ENOENT: `path` does not exist.
    // In both cases `path` itself is the file to write.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EINVAL') return path;
    throw error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
