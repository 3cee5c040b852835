// Keeps in a file whether each cluster decides by RBAC alone, so that the choice survives a restart while a cluster is
// down. An unreadable or unwritable file never stops the index: the clusters are asked again.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { ModeMemory } from './modes.ts';

/**
 * Makes a {@link ModeMemory} that is stored in a file.
 * @param onError called when the file cannot be written, or cannot be read although it exists
 */
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
