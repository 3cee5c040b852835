// The columns of a table of objects: cluster, namespace and name, then the columns that the server defines for the
// type.
import type { JSX } from 'preact';
import { age, objectAddress } from '../api/kube.ts';
import type { Kind } from '../api/kube.ts';
import type { Column, Row } from '../live/live-table.ts';
import type { ShownColumn } from './live-rows.tsx';
import { Age, State, toneOf } from './parts.tsx';

/** Columns that contain the state of an object as a word. It is shown with a colour and shape. */
const stateColumns = new Set(['Status', 'Phase', 'Available', 'State', 'Synced', 'Healthy', 'Established', 'Complete']);

export function objectColumns(kind: Kind, columns: readonly Column[]): readonly ShownColumn[] {
  const hrefOf = (row: Row): string => objectAddress(row.cluster, kind, row.metadata);
  const own = columns.flatMap((column, at) =>
    ['Cluster', 'Name'].includes(column.name) && at < 2 ? [] : [columnOf(column, at)],
  );
  const stateAt = columns.findIndex(({ name }) => stateColumns.has(name));
  return [
    { name: 'Cluster', value: ({ cluster }) => cluster, cell: ({ cluster }) => cluster },
    ...(kind.namespaced
      ? [
          {
            name: 'Namespace',
            value: ({ metadata }: Row) => metadata.namespace,
            cell: ({ metadata }: Row) => metadata.namespace,
          },
        ]
      : []),
    {
      name: 'Name',
      value: ({ metadata }) => metadata.name,
      cell: (row) => (
        <>
          {stateAt >= 0 && <NarrowState word={wordOf(row, row.cells[stateAt])} />}
          <a class="row" href={hrefOf(row)}>
            {row.metadata.name}
          </a>
        </>
      ),
    },
    ...own,
  ];
}

/**
 * The shape of the object's state beside its name, for narrow screens, on which the column with the state is hidden.
 */
function NarrowState({ word }: { word: string }): JSX.Element {
  return (
    <span class={`state narrow ${toneOf(word)}`} aria-hidden="true">
      <span class="shape" />
    </span>
  );
}

/** Returns the word for a row's state: `Terminating` for an object that is being deleted, else the cell. */
function wordOf({ metadata }: Row, cell: unknown): string {
  return metadata.deletionTimestamp === undefined ? String(cell ?? '') : 'Terminating';
}

function columnOf(column: Column, at: number): ShownColumn {
  const { name, description, priority } = column;
  const textOf = (row: Row): string => String(row.cells[at] ?? '');
  if (name === 'Age') {
    return {
      name,
      description,
      value: ({ metadata }) => metadata.creationTimestamp,
      cell: ({ metadata }) => <Age since={metadata.creationTimestamp} />,
    };
  }
  const cell = (row: Row): JSX.Element | string => cellOf(name, textOf(row), column.type, row);
  return { name, description, wide: priority > 0, value: textOf, cell };
}

function cellOf(name: string, text: string, type: string, row: Row): JSX.Element | string {
  if (type === 'date' || /^\d{4}-\d\d-\d\dT/.test(text)) return age(text);
  if (stateColumns.has(name) && /[a-z]/i.test(text)) {
    const word = wordOf(row, text);
    return <State tone={toneOf(word)}>{word}</State>;
  }
  if (name === 'Ready' && /^\d+\/\d+$/.test(text)) {
    const [ready, wanted] = text.split('/');
    return ready === wanted ? text : <State tone="warn">{text}</State>;
  }
  return text;
}
