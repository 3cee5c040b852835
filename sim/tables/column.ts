// One column of a printed table.
import type { KubeObject } from '../types.ts';

/** One column: its definition and how a cell is made. */
export interface Column {
  readonly name: string;
  /** JSON type of the cell, default string. */
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  /** 1: only with -o wide. */
  readonly priority?: number;
  readonly description?: string;
  readonly cell: (object: KubeObject, now: Date) => unknown;
}
