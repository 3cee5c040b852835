// Makes the cells of custom resources from the `additionalPrinterColumns` of their CRD, as apiextensions-apiserver's
// tableconvertor does. A value whose type differs from the column's type gives an empty cell. Only a column of type
// string accepts values of any type; it shows lists as JSON.
import { goFloat } from '../lib/text/go-float.ts';
import type { PrinterColumn } from './printer-column.ts';
import {
  nameDescription,
  createdDescription,
  type Ages,
  type Cell,
  type KubeObject,
  type TableColumn,
} from './printers/printer.ts';
import { parsePrinterPath, TooManyValues, ValueBudget, type PrinterPath } from './printer-path.ts';

/** One column of a custom resource's table, with the function that makes the column's cell for one object. */
export interface CustomColumn {
  readonly column: TableColumn;
  /** @param budget limits the work for all cells of the row together; cells beyond the limit are empty */
  readonly cell: (object: KubeObject, ages: Ages, budget: ValueBudget) => Cell;
}

export type CustomPrinter = readonly CustomColumn[];

const ageOnly: readonly PrinterColumn[] = [
  { name: 'Age', type: 'date', description: createdDescription, jsonPath: '.metadata.creationTimestamp' },
];

/**
 * Prepares the columns of one version of a CRD. As in kube-apiserver, a column with an invalid path is dropped together
 * with all columns after it. When the paths together have too many steps to parse, the columns beyond that limit have
 * empty cells.
 */
export function customPrinter(columns: readonly PrinterColumn[]): CustomPrinter {
  const printer: CustomColumn[] = [];
  const parsing = ValueBudget.ofAllPaths();
  for (const column of columns.length > 0 ? columns : ageOnly) {
    let path: PrinterPath;
    try {
      path = parsePrinterPath(column.jsonPath, parsing);
    } catch (error) {
      if (!(error instanceof TooManyValues)) break;
      path = findsNothing;
    }
    printer.push({ column: columnOf(column), cell: cellsOf(path, column.type) });
  }
  return printer;
}

const findsNothing: PrinterPath = () => [];

function columnOf({ name, type, format = '', description, priority = 0, jsonPath }: PrinterColumn): TableColumn {
  const text = description || `Custom resource definition column (in JSONPath format): ${jsonPath}`;
  return { name, type, format, description: text, priority };
}

export function customColumns(printer: CustomPrinter): readonly TableColumn[] {
  const name: TableColumn = { name: 'Name', type: 'string', format: 'name', description: nameDescription, priority: 0 };
  return [name, ...printer.map(({ column }) => column)];
}

function cellsOf(path: PrinterPath, type: string): CustomColumn['cell'] {
  return (object, ages, budget) => {
    try {
      return cellOf(path(object, budget), type, ages, budget);
    } catch (error) {
      // A path that fails, or takes too much, gives an empty cell.
      if (error instanceof RangeError || error instanceof TypeError) return null;
      throw error;
    }
  };
}

function cellOf(found: readonly unknown[], type: string, ages: Ages, budget: ValueBudget): Cell {
  if (found.length === 0) return null;
  const [value] = found;
  switch (type) {
    case 'string':
      return textOf(value, budget);
    case 'integer':
      if (typeof value === 'bigint') return value;
      return typeof value === 'number' ? wholeNumber(value) : null;
    case 'number':
      if (typeof value === 'bigint') return Number(value);
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? dateCell(value, ages) : null;
    default:
      return null;
  }
}

const leastInt64 = -(2n ** 63n);

/** Converts a float as Go's int64(value) does on amd64, where a number out of range becomes -2^63. */
function wholeNumber(value: number): Cell {
  return Math.abs(value) < 2 ** 63 ? Math.trunc(value) : leastInt64;
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,30})?(?:Z|[+-]\d\d:\d\d)$/;

function dateCell(text: string, ages: Ages): Cell {
  if (text === '' || text === 'null') return '<unknown>';
  return rfc3339.test(text) && !Number.isNaN(Date.parse(text)) ? ages.since(text) : '<invalid>';
}

/**
 * A value as Go prints it: scalars with fmt.Fprint, objects and lists as JSON with sorted keys.
 * @throws TooManyValues
 */
function textOf(value: unknown, budget: ValueBudget): string {
  if (value === null || value === undefined) return '<no value>';
  if (typeof value === 'number') return goNumber(value);
  if (typeof value === 'object') return goJson(value, budget);
  budget.print(String(value).length);
  return String(value);
}

/**
 * A number as Go's `%v` prints a float64 (strconv.FormatFloat with 'g', shortest digits). Whole numbers print as
 * integers.
 */
export function goNumber(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  return goFloat(value);
}

/**
 * JSON as Go's encoding/json writes it: sorted keys, with `<`, `>` and `&` escaped. JSON.stringify cannot be used,
 * because JavaScript objects move keys such as `1` to the front.
 */
function goJson(value: unknown, budget: ValueBudget): string {
  if (Array.isArray(value)) {
    budget.spend(value.length);
    return `[${value.map((each) => goJson(each, budget)).join(',')}]`;
  }
  if (typeof value !== 'object' || value === null) {
    const json = JSON.stringify(value);
    budget.print(json.length);
    return escaped(json);
  }
  // Each key is at least one value to sort and one to print, which is known before they are sorted.
  const keys = Object.keys(value);
  budget.spend(2 * keys.length);
  const texts = keys.sort().map((key) => {
    budget.print(key.length - 1);
    return `${escaped(JSON.stringify(key))}:${goJson((value as Readonly<Record<string, unknown>>)[key], budget)}`;
  });
  return `{${texts.join(',')}}`;
}

function escaped(json: string): string {
  return json.replaceAll(/[<>&\u2028\u2029]/g, (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`);
}
