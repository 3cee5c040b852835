// What a printer of table rows is: columns and the cells of one object, as kube-apiserver's printers have them. Easy to
// get wrong: cells are typed (a count is a number, `2/3` a text), and ages are of the moment of the answer, never
// stored.
import type { ExactInteger } from '../../lib/json/exact-json.ts';
import { humanDuration } from './human-duration.ts';

/** One cell. */
export type Cell = string | number | boolean | null | ExactInteger;

/** meta.k8s.io/v1 TableColumnDefinition. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0 is always shown, more only by `-o wide`. */
  readonly priority: number;
}

/** meta.k8s.io/v1 TableRowCondition. */
export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** `metadata` of an object, as far as printers read it. */
export interface ObjectMeta {
  readonly name?: string;
  readonly namespace?: string;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string | null;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly name?: string;
    readonly controller?: boolean;
  }[];
}

export interface KubeObject {
  readonly metadata?: ObjectMeta;
}

/** How to print one type. */
export interface Printer<T extends KubeObject = KubeObject> {
  /** See {@link readColumns}. */
  readonly columns: string;
  readonly cells: (object: T, ages: Ages) => readonly Cell[];
  readonly conditions?: (object: T) => readonly RowCondition[];
}

/** Printers by resource. */
export type Printers = Readonly<Record<string, Printer>>;

/** Keeps the object's own type where the printer is written. */
export function printer<T extends object>(
  columns: string,
  cells: (object: T & KubeObject, ages: Ages) => readonly Cell[],
  conditions?: (object: T & KubeObject) => readonly RowCondition[],
): Printer {
  return { columns, cells, ...(conditions === undefined ? {} : { conditions }) } as Printer;
}

/** Durations at the moment of the answer. */
export interface Ages {
  /** Since a time; `<unknown>` for none. */
  readonly since: (timestamp: string | null | undefined) => string;
  /** Since the object was created. */
  readonly of: (object: KubeObject) => string;
}

export function agesAt(nowMs: number): Ages {
  const since = (timestamp: string | null | undefined): string => {
    const ms = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
    return Number.isNaN(ms) ? '<unknown>' : humanDuration(nowMs - ms);
  };
  return { since, of: (object) => since(object.metadata?.creationTimestamp) };
}

export const nameDescription =
  'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the ' +
  'generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be ' +
  'updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names';

export const createdDescription =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before ' +
  'order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. ' +
  'Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata';

const descriptions: Readonly<Record<string, string>> = { '@name': nameDescription, '@age': createdDescription };

/**
 * Reads columns: one a line, `Name:type:format:priority | description`, the parts after the type only where they are
 * not empty. `@name` and `@age` stand for the descriptions of those two, `\n` for a line end.
 */
export function readColumns(text: string): readonly TableColumn[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const bar = line.indexOf(' | ');
    const [name, type, format = '', priority = '0'] = line.slice(0, bar).split(':') as [
      string,
      string,
      string?,
      string?,
    ];
    const description = line.slice(bar + 3).replaceAll('\\n', '\n');
    return { name, type, format, description: descriptions[description] ?? description, priority: Number(priority) };
  });
}
