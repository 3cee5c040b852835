// Defines how rows of a Table are printed: the columns of a type, and the cells for one object, as in kube-apiserver's
// printers. A cell is a number where kube-apiserver sends one (a count), otherwise a text (`2/3`). Ages are relative to
// the time of the answer.
import { humanDuration } from '../../lib/text/human-duration.ts';

/** The value of one cell in a table row. */
export type Cell = string | number | bigint | boolean | null;

/** The same as meta.k8s.io/v1 TableColumnDefinition. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** Columns with priority 0 are always shown, others only with `kubectl -o wide`. */
  readonly priority: number;
}

/** The same as meta.k8s.io/v1 TableRowCondition. */
export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** The fields of an object's `metadata` that printers read. */
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

/** The columns of one type, and the functions that make the cells and conditions of a row from an object. */
export interface Printer {
  readonly columns: readonly TableColumn[];
  readonly cells: AllCells<KubeObject>;
  readonly conditions?: (object: KubeObject) => readonly RowCondition[];
}

/** Printers by type, with keys such as `deployments.apps`, or `pods.` in the core group. */
export type Printers = Readonly<Record<string, Printer>>;

/** Returns all cells of the row for one object, in the order of the columns. */
export type AllCells<T> = (object: T & KubeObject, ages: Ages) => readonly Cell[];

/** Functions that return one cell each, by the name of the column. */
export type Cells<T> = Readonly<Record<string, (object: T & KubeObject, ages: Ages) => Cell>>;

/**
 * Makes a printer from a text with one column in each line: `Name:type:format:priority = path ?? missing |
 * description`. Format and priority may be left out. The cell of the column is the value at the path. The text after
 * `??` is JSON or plain text, and is shown when the value is null or undefined; with `||` in place of `??` it is shown
 * for '', 0 and false too. With neither, a missing value gives ''. A column without a path needs a function in `cells`.
 * The descriptions `@name` and `@age` make the usual columns for name and age. `\n` is a line break.
 * @param cells functions that make cells, by the name of their column, or one function that makes all cells of a row
 * @throws Error for a column with neither path nor function
 */
export function printer<T extends object = KubeObject>(
  columns: string,
  cells: Cells<T> | AllCells<T> = {},
  conditions?: (object: T & KubeObject) => readonly RowCondition[],
): Printer {
  const lines = columns
    .split('\n')
    .filter((line) => line !== '')
    .map(readLine);
  return {
    columns: lines.map(({ column }) => column),
    cells: typeof cells === 'function' ? cells : allCells(lines, cells),
    ...(conditions === undefined ? {} : { conditions }),
  } as unknown as Printer;
}

interface Line {
  readonly column: TableColumn;
  /**
   * What the cell is made from: `@name`, `@age`, or a path with the value to show when nothing is at the path.
   * Undefined for a column whose cell is made by a function in `cells`.
   */
  readonly source: string | undefined;
}

function readLine(line: string): Line {
  const bar = line.indexOf(' | ');
  const [head, source] = line.slice(0, bar).split(' = ') as [string, string?];
  const [name, type, format = '', priority = '0'] = head.split(':') as [string, string, string?, string?];
  const text = line.slice(bar + 3).replaceAll('\\n', '\n');
  const description = descriptions[text] ?? text;
  const isKnown = Object.hasOwn(descriptions, text);
  return {
    column: { name, type, format, description, priority: Number(priority) },
    source: source ?? (isKnown ? text : undefined),
  };
}

function allCells<T>(lines: readonly Line[], cells: Cells<T>): AllCells<T> {
  const all = lines.map(({ column: { name }, source }) => {
    const cell = Object.hasOwn(cells, name) ? cells[name] : source === undefined ? undefined : cellOf(source);
    if (cell === undefined) throw new Error(`the column ${name} has no cell`);
    return cell;
  });
  return (object, ages) => all.map((cell) => cell(object, ages));
}

function cellOf(source: string): (object: KubeObject, ages: Ages) => Cell {
  if (source === '@name') return ({ metadata }) => metadata?.name ?? '';
  if (source === '@age') return (object, ages) => ages.of(object);
  const [, path, operator, text = ''] = /^(\S+)(?: (\?\?|\|\|) (.*))?$/.exec(source)!;
  const keys = path!.split('.');
  const missing = missingCell(text);
  return (object) => {
    let value: unknown = object;
    for (const key of keys) value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[key];
    return (operator === '||' ? value || missing : (value ?? missing)) as Cell;
  };
}

function missingCell(text: string): Cell {
  try {
    return JSON.parse(text) as Cell;
  } catch {
    return text;
  }
}

/** Functions that make the texts of ages, relative to the time of the answer. */
export interface Ages {
  /** The time since `timestamp`, such as `5d`; `<unknown>` when it is missing or invalid. */
  readonly since: (timestamp: string | null | undefined) => string;
  /** The time since the object's creation, such as `5d`. */
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
