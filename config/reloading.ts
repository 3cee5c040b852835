// Files that are read again when they change: tokens, client CA, rules, serving certificate. When a changed file is
// invalid, its whole previous content stays in use, and the fault is reported until the file is valid again.
import { ConfigurationError } from '../lib/configuration-error.ts';
import { GatewayError } from '../model/errors.ts';
import { lookAt, watchFiles } from '../lib/file-watch.ts';
import type { FileWatch } from '../lib/file-watch.ts';
import { readText } from './settings/read-text.ts';
import type { Log } from '../lib/log.ts';

/** Configuration files that are read again when they change. */
export interface Reloading {
  /**
   * Reads files and passes their content to `apply`, now and whenever one of them changes.
   * @param apply gets the texts in the order of `files`; it must use all of them or throw
   * @throws ConfigurationError (rejects) when the first read or the first `apply` fails
   */
  add(files: readonly string[], apply: (...texts: string[]) => void): Promise<void>;
  /** Every file whose last change was invalid, and why. */
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
      // The state of the files (such as their times) is recorded before they are read. So a change between the two is
      // noticed later, and the files are read again.
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

/**
 * The message of an error, in a form that may be logged. Security: the gateway's own errors never quote a secret; of
 * any other error, only the class name is shown.
 */
function faultMessage(error: unknown): string {
  return error instanceof ConfigurationError || error instanceof GatewayError
    ? error.message
    : `cannot be used (${(error as Error).name})`;
}
