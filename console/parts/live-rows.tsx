// A table for any number of rows: the document contains only the rows in sight. A click on a column's name sorts by
// that column.
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from '@tanstack/virtual-core';
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Row } from '../live/live-table.ts';
import { go, place } from '../api/route.ts';

/** How a view shows one column. */
export interface ShownColumn {
  readonly name: string;
  readonly description?: string;
  /** Returns the value by which rows are sorted. */
  readonly value: (row: Row) => unknown;
  readonly cell: (row: Row) => ComponentChildren;
  /** True hides the column on a narrow screen. */
  readonly wide?: boolean;
}

export interface Sorting {
  readonly by: string;
  readonly down: boolean;
}

/** Reads the sorting from the address: `sort=Name`, or `sort=-Age` for descending order. */
export function readSorting(): Sorting | undefined {
  const text = place.value.query.get('sort');
  if (text === null) return undefined;
  return { by: text.replace(/^-/, ''), down: text.startsWith('-') };
}

const rowHeight = 30;
const collator = new Intl.Collator('en', { numeric: true });

/** Sorts rows by a column; without a sorting, by cluster, namespace and name, the order of the gateway. */
export function sorted(
  rows: readonly Row[],
  columns: readonly ShownColumn[],
  sorting: Sorting | undefined,
): readonly Row[] {
  const column = columns.find(({ name }) => name === sorting?.by);
  if (column === undefined) return rows.toSorted(byPlace);
  const keyed = rows.map((row) => [String(column.value(row) ?? ''), row] as const);
  const sign = sorting!.down ? -1 : 1;
  // Most values of a column are equal, and comparing equal texts with the collator takes a microsecond each.
  return keyed.toSorted(([a], [b]) => (a === b ? 0 : sign * collator.compare(a, b))).map(([, row]) => row);
}

function byPlace(a: Row, b: Row): number {
  const [one, other] = [a.metadata, b.metadata];
  return (
    order(a.cluster, b.cluster) || order(one.namespace ?? '', other.namespace ?? '') || order(one.name, other.name)
  );
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

interface LiveRowsProps {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly ShownColumn[];
  readonly sorting: Sorting | undefined;
  readonly onSort: (sorting: Sorting | undefined) => void;
  /** Returns the address of the page that a click on the row opens. */
  readonly hrefOf: (row: Row) => string;
}

export function LiveRows({ label, rows, columns, sorting, onSort, hrefOf }: LiveRowsProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useSignal(0);
  const virtual = useMemo(
    () =>
      new Virtualizer<HTMLDivElement, HTMLTableRowElement>({
        count: 0,
        getScrollElement: () => box.current,
        estimateSize: () => rowHeight,
        overscan: 12,
        scrollToFn: elementScroll,
        observeElementRect,
        observeElementOffset,
        onChange: () => (drawn.value += 1),
        initialRect: { width: 1000, height: 900 },
      }),
    [],
  );
  virtual.setOptions({ ...virtual.options, count: rows.length });
  useEffect(() => virtual._didMount(), []);
  useEffect(() => virtual._willUpdate());
  void drawn.value;
  const items = virtual.getVirtualItems();
  const above = items[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <div class="rows" ref={box} tabIndex={0} role="region" aria-label={label} onKeyDown={moveFocus}>
      <table aria-rowcount={rows.length + 1} aria-label={label}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <Heading key={column.name} column={column} sorting={sorting} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <tr aria-hidden="true" style={{ height: above }} />}
          {items.map(({ index }) => {
            const row = rows[index]!;
            return (
              <tr key={row.key} aria-rowindex={index + 2} onClick={(event) => openRow(event, hrefOf(row))}>
                {columns.map(({ name, cell, wide }) => (
                  <td key={name} class={wide ? 'wide' : ''}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          {below > 0 && <tr aria-hidden="true" style={{ height: below }} />}
        </tbody>
      </table>
    </div>
  );
}

function Heading({
  column,
  sorting,
  onSort,
}: { column: ShownColumn } & Pick<LiveRowsProps, 'sorting' | 'onSort'>): JSX.Element {
  const { name, description, wide } = column;
  const mine = sorting?.by === name ? sorting : undefined;
  // The first click on a column's name sorts ascending, the second descending, the third restores the gateway's order.
  const next = mine === undefined ? { by: name, down: false } : mine.down ? undefined : { by: name, down: true };
  return (
    <th
      scope="col"
      class={wide ? 'wide' : ''}
      aria-sort={mine === undefined ? 'none' : mine.down ? 'descending' : 'ascending'}
    >
      <button type="button" title={description} onClick={() => onSort(next)}>
        {name}
        <span aria-hidden="true">{mine === undefined ? '' : mine.down ? ' ▾' : ' ▴'}</span>
      </button>
    </th>
  );
}

function openRow(event: MouseEvent, href: string): void {
  const target = event.target as Element;
  if (target.closest('a, button') !== null || getSelection()?.toString()) return;
  go(href);
}

/** Moves the focus between the links of the rows with the keys j and k or the arrow keys. */
function moveFocus(event: KeyboardEvent): void {
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...(event.currentTarget as Element).querySelectorAll<HTMLAnchorElement>('tbody a.row')];
  const at = links.indexOf(document.activeElement as HTMLAnchorElement);
  const next = links[at < 0 ? 0 : at + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
