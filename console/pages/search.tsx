// The search page lists objects of one resource type over all clusters. The search bar and the facets filter the
// objects, the index answers, and a watch keeps the table up to date. All choices are stored in the address.
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { groupPath, objectAddress, paths } from '../api/kube.ts';
import type { Kind } from '../api/kube.ts';
import { findKind, kinds, loadKinds } from '../live/kinds.ts';
import { LiveTable } from '../live/live-table.ts';
import { useAnswer, useTitle } from '../live/resource.ts';
import { facetsOf, kubectlLine, quoted, readQuestion } from '../live/question.ts';
import { Facets } from '../parts/facets.tsx';
import { LiveRows, readSorting, sorted } from '../parts/live-rows.tsx';
import { CommandLine, Loading, Notice, Problem, Said, State, Warnings } from '../parts/parts.tsx';
import { QuestionBar } from '../parts/question-bar.tsx';
import { objectColumns } from '../parts/object-columns.tsx';
import { go, here, place } from '../api/route.ts';

export function SearchPage(): JSX.Element {
  const { answer, again } = useAnswer(() => loadKinds(), '');
  const { loading, error } = answer.value;
  const known = kinds.value;
  useTitle(() => 'Search');
  if (known === undefined) {
    return (
      <section class="page">
        <h1>Search</h1>
        {loading && <Loading what="the kinds of objects" />}
        {error && <Problem error={error} again={again} />}
      </section>
    );
  }
  return <KindSearch known={known} />;
}

function KindSearch({ known }: { known: readonly Kind[] }): JSX.Element {
  const { query } = place.value;
  const text = query.get('q') ?? '';
  const asked = readQuestion(text).kind ?? query.get('kind') ?? 'pods';
  const kind = findKind(known, asked);
  return (
    <section class="page">
      <h1 class="unseen">Search</h1>
      <QuestionBar known={known} kind={kind} text={text} />
      {kind === undefined ? (
        <Notice tone="warn" title={`“${asked}” is not in the index`}>
          <p>
            No cluster that you may search gives it to the index. Kinds that are there:{' '}
            {known
              .slice(0, 12)
              .map(({ id }) => id)
              .join(', ')}
            {known.length > 12 ? ' …' : ''}. What is indexed is chosen by <code>--index-resources</code>; in a cluster
            itself you find it with <code>kubectl --context portcullis-CLUSTER get {quoted(asked)}</code>.
          </p>
        </Notice>
      ) : (
        <Results key={kind.id} kind={kind} text={text} />
      )}
    </section>
  );
}

/** Returns the path in the index's API that lists objects of a type over all clusters. */
const listPath = (kind: Kind): string => `${paths.copies}${groupPath(kind.group, kind.version)}/${kind.plural}`;

function Results({ kind, text }: { kind: Kind; text: string }): JSX.Element {
  const { parameters } = readQuestion(text, kind.plural);
  const asked = parameters.toString();
  // After a change of the query, the old table stays on the page until the new one has its first rows or its request is
  // refused.
  const shown = useSignal<LiveTable | undefined>(undefined);
  const table = useMemo(() => new LiveTable(listPath(kind), new URLSearchParams(asked)), [kind.id, asked]);
  useEffect(() => () => table.close(), [table]);
  if (shown.peek() === undefined || table.state.value === 'live') shown.value = table;
  const current = shown.value!;
  const error = table.error.value;
  const sorting = readSorting();
  const columns = objectColumns(kind, current.columns.value);
  const rows = sorted(current.rows.value, columns, sorting);
  const total = current.rows.value.length + current.more.value;
  const hasRows = rows.length > 0;
  const keepsRows = table.state.value === 'failed' && current !== table && hasRows;
  return (
    <>
      {error && error.status === 400 && (
        <Notice tone="bad" title="The index does not understand this">
          {<p>{error.message}</p>}
        </Notice>
      )}
      {error && error.status !== 400 && <Problem error={error} again={() => table.retry()} />}
      <Warnings texts={current.warnings.value} />
      <div class="search">
        <Facets kind={kind} text={text} facets={facetsOf(kind)} table={current} />
        <div class="results">
          <Summary table={table} total={total} kind={kind} keepsRows={keepsRows} />
          {table.state.value === 'loading' && current === table && <Loading what={kind.plural} />}
          {table.state.value === 'live' && !hasRows && (
            <Notice tone="quiet" title={`No ${kind.plural} here`}>
              <p>
                {text === ''
                  ? 'None of the clusters that you may search has any, or your rights there do not show them.'
                  : 'Nothing that you may see fits all these words. Take some away.'}
              </p>
              {text !== '' && <a href={here({ q: '' })}>Show all {kind.plural}</a>}
            </Notice>
          )}
          {hasRows && (
            <LiveRows
              label={`${kind.kind} in all clusters`}
              rows={rows}
              columns={columns}
              sorting={sorting}
              onSort={(next) =>
                go(here({ sort: next === undefined ? undefined : `${next.down ? '-' : ''}${next.by}` }), true)
              }
              hrefOf={(row) => objectAddress(row.cluster, kind, row.metadata)}
            />
          )}
        </div>
      </div>
      <CommandLine line={kubectlLine(kind, listPath(kind), parameters)} />
    </>
  );
}

function Summary({
  table,
  total,
  kind,
  keepsRows,
}: {
  table: LiveTable;
  total: number;
  kind: Kind;
  keepsRows: boolean;
}): JSX.Element {
  const state = table.state.value;
  const words = {
    loading: <State tone="busy">loading</State>,
    live: <State tone="good">live</State>,
    paused: <State tone="quiet">paused while nobody looks</State>,
    retrying: <State tone="warn">not live: trying again</State>,
    failed: <State tone="bad">{keepsRows ? 'refused; the rows of the last question are shown' : 'refused'}</State>,
  }[state];
  const left = table.more.value;
  return (
    <p class="summary">
      {(state !== 'failed' || total > 0) && (
        <>
          <strong>{total.toLocaleString('en')}</strong> {total === 1 ? kind.kind : kind.plural}{' '}
        </>
      )}
      {words}
      {left > 0 && state === 'live' && (
        <span class="quiet"> {left.toLocaleString('en')} more are not shown: narrow it down</span>
      )}
      <Said text={state === 'live' ? `${total} ${kind.plural}` : ''} />
    </p>
  );
}
