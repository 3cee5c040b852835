// Keeps in a file what members said of their authorizers, so that a member that is down after a restart is decided as
// before. A file that cannot be read or written never stops the index: members are asked again.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { ModeMemory } from './modes.ts';

/** @param onError the file could not be written; reading one that is not there is no error */
export function makeModeFile(file: string, onError: (error: unknown) => void): ModeMemory {
  return {
    read: () => {
      try {
        return readFileSync(file, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') onError(error);
        return undefined;
      }
    },
    write: (text) => {
      try {
        const partial = `${file}.${process.pid}.new`;
        writeFileSync(partial, text, { mode: 0o600 });
        renameSync(partial, file);
      } catch (error) {
        onError(error);
      }
    },
  };
}
