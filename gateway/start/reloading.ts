// A file that is read again when it changes: token CSV, client CA, rules, serving certificate. A bad edit keeps the
// last good state, whole, and is reported until the file is repaired.
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import { lookAt, watchFiles } from '../../lib/file-watch.ts';
import type { FileWatch } from '../../lib/file-watch.ts';
import { readText } from '../config/read-text.ts';
import type { Log } from '../operations/log.ts';

/** The files of one process that are watched, and what is wrong with them now. */
export interface Reloading {
  /**
   * Reads files once, applies them, and does both again whenever one changes.
   * @param apply gets the texts in the order of `files`; must either take all of it or throw
   * @throws ConfigurationError when the first read or apply fails
   */
  add(files: readonly string[], apply: (...texts: string[]) => void): Promise<void>;
  /** `file: reason` of every file whose last edit could not be used. */
  faults(): readonly { readonly file: string; readonly message: string }[];
  close(): void;
}

export function makeReloading(log: Log): Reloading {
  const faults = new Map<string, string>();
  const watches: FileWatch[] = [];
  return {
    async add(files, apply) {
      const label = files.join(', ');
      const read = (): void => apply(...files.map(readText));
      const seen = async (): Promise<ReadonlyMap<string, string>> =>
        new Map(await Promise.all(files.map(async (file) => [file, await lookAt(file)] as const)));
      // The state is taken before the read: a change between the two is read again and not missed.
      const before = await seen();
      read();
      const watch = watchFiles({
        onChange: async () => {
          const now = await seen();
          try {
            read();
            if (faults.delete(label)) log.info({ file: label }, 'configuration is good again');
            else log.info({ file: label }, 'configuration reloaded');
          } catch (error) {
            const message = faultMessage(error);
            if (faults.get(label) !== message)
              log.error({ file: label, fault: message }, 'bad edit: the last good state is kept');
            faults.set(label, message);
          }
          watch.setFiles(now);
        },
      });
      watch.setFiles(before);
      watches.push(watch);
    },
    faults: () => [...faults].map(([file, message]) => ({ file, message })),
    close() {
      for (const watch of watches) watch.close();
    },
  };
}

/** What may be shown of a fault: our own errors never quote a secret; others are named by their kind only. */
function faultMessage(error: unknown): string {
  return error instanceof ConfigurationError || error instanceof GatewayError
    ? error.message
    : `cannot be used (${(error as Error).name})`;
}
