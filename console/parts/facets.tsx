// The facets beside the search results: how many of the found objects each cluster, namespace or other value has. A
// click on a value adds it to the query. The counts are of all objects that the user may see, not only of the rows that
// are shown.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { paths } from '../api/kube.ts';
import type { Kind } from '../api/kube.ts';
import { chosenOf, readQuestion, toggled, withoutFacet } from '../live/question.ts';
import type { Facet } from '../live/question.ts';
import type { LiveTable } from '../live/live-table.ts';
import { useAnswer } from '../live/resource.ts';
import { here } from '../api/route.ts';
import { askJson } from '../api/api.ts';

interface FacetCounts {
  readonly facets: readonly { readonly value: string; readonly count: number }[];
}

const mostValues = 12;
/** While rows change, the counts are requested at most once in so many milliseconds. */
const refreshMs = 10_000;

interface FacetsProps {
  readonly kind: Kind;
  readonly text: string;
  readonly facets: readonly Facet[];
  readonly table: LiveTable;
}

export function Facets({ kind, text, facets, table }: FacetsProps): JSX.Element {
  return (
    <details class="facets" open={matchMedia('(min-width: 900px)').matches}>
      <summary>Narrow down</summary>
      {facets.map((facet) => (
        <FacetValues key={facet.by} kind={kind} text={text} facet={facet} table={table} />
      ))}
    </details>
  );
}

function FacetValues({
  kind,
  text,
  facet,
  table,
}: Omit<FacetsProps, 'facets'> & { readonly facet: Facet }): JSX.Element | null {
  // The facet's own words are left out of the query. Otherwise only values that are chosen already would be counted.
  const { parameters } = readQuestion(withoutFacet(facet, text), kind.plural);
  const query = new URLSearchParams(parameters);
  query.set('resource', kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`);
  query.set('by', facet.by);
  const { answer, again } = useAnswer(
    (signal) => askJson<FacetCounts>(`${paths.index}/facets?${query}`, { signal }),
    query.toString(),
  );
  useRefresh(table.changes.value, again);
  const { value, error } = answer.value;
  const chosen = chosenOf(facet, text);
  const all = value?.facets ?? [];
  const shown = all.filter(({ value: each }, i) => i < mostValues || chosen.includes(each));
  if (error !== undefined || (value !== undefined && all.length === 0 && chosen.length === 0)) return null;
  return (
    <fieldset>
      <legend>{facet.title}</legend>
      {[
        ...chosen
          .filter((each) => all.every(({ value: other }) => other !== each))
          .map((each) => ({ value: each, count: 0 })),
        ...shown,
      ].map(({ value: each, count }) => (
        <a
          key={each}
          href={here({ q: toggled(facet, each, text) })}
          aria-current={chosen.includes(each) ? 'true' : undefined}
        >
          <span>{each === '' ? '(none)' : each}</span>
          <span class="count">{count.toLocaleString('en')}</span>
        </a>
      ))}
      {all.length > shown.length && <span class="quiet">{all.length - shown.length} more</span>}
    </fieldset>
  );
}

/**
 * Calls `again` each time `changes` has grown, but at most once in `refreshMs`; a call that would come too early is
 * delayed.
 */
function useRefresh(changes: number, again: () => void): void {
  const last = useRef(Date.now());
  useEffect(() => {
    if (changes < 2) return undefined;
    const timer = setTimeout(
      () => {
        last.current = Date.now();
        again();
      },
      Math.max(0, last.current + refreshMs - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [changes]);
}
