// The type of a table column, which the other files of this folder define for each kind.
import type { KubeObject } from '../types.ts';

/** One column of a table, with the function that makes its cells. */
export interface Column {
  readonly name: string;
  /** The JSON type of the cells. Default string. */
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  /** When the column is shown: 0 (default) always, 1 only with `-o wide`. */
  readonly priority?: number;
  readonly description?: string;
  readonly cell: (object: KubeObject, now: Date) => unknown;
}
