// Table columns of custom resources, from `additionalPrinterColumns`. A date is shown as the time since then. When a
// path finds nothing, the cell is empty.
import type { Resource } from '../store/resources.ts';
import type { Column } from './column.ts';
import type { KubeObject } from '../types.ts';
import { age, ageColumn, nameColumn } from './cells.ts';

/** The columns of a custom resource. */
export function customColumns(resource: Resource): readonly Column[] {
  const own = resource.columns ?? [];
  if (own.length === 0) return [nameColumn, ageColumn];
  return [
    nameColumn,
    ...own.map(({ name, type, jsonPath, priority = 0, description = '', format = '' }): Column => {
      const find = (object: KubeObject): unknown => followPath(object, jsonPath);
      return {
        name,
        priority,
        description,
        format,
        type: type as NonNullable<Column['type']>,
        cell: (object, now) => cellOf(find(object), type, now),
      };
    }),
  ];
}

function cellOf(value: unknown, type: string, now: Date): unknown {
  if (value === undefined || value === null) return type === 'date' ? '<unknown>' : null;
  if (type === 'date') return age(String(value), now);
  if (type === 'integer' || type === 'number' || type === 'boolean') return value;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Evaluates the simple JSON paths that CustomResourceDefinitions use for columns: `.a.b`, `.a[0]`,
 * `.a[?(@.type=="Ready")].status`, `.a['b.c']`.
 */
export function followPath(object: unknown, path: string): unknown {
  const steps = path.matchAll(
    /\.([A-Za-z0-9_-]+)|\[(\d+|\*)\]|\['((?:[^'\\]|\\.)+)'\]|\[\?\(@\.([\w.]+)\s*==\s*["']([^"']*)["']\)\]/g,
  );
  let at: any = object;
  for (const [, field, index, quoted, filterField, filterValue] of steps) {
    if (at === undefined || at === null) return undefined;
    if (field !== undefined) at = at[field];
    else if (quoted !== undefined) at = at[quoted.replace(/\\(.)/g, '$1')];
    else if (index !== undefined) at = at[index === '*' ? 0 : Number(index)];
    else if (filterField !== undefined)
      at = Array.isArray(at)
        ? at.find((item) => String(followPath(item, `.${filterField}`)) === filterValue)
        : undefined;
  }
  return at;
}
