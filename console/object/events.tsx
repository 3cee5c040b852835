// The tab with the Events of an object. They are listed and watched in the object's cluster while the tab is shown.
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { paths } from '../api/kube.ts';
import { LiveTable } from '../live/live-table.ts';
import type { Row } from '../live/live-table.ts';
import { kubectl, kubectlName } from './object-view.ts';
import type { ObjectView } from './object-view.ts';
import { CommandLine, Loading, Notice, Problem, State, toneOf, WideTable } from '../parts/parts.tsx';
import { encodeSegment } from '../api/route.ts';

export function EventsTab({ place, object }: ObjectView): JSX.Element {
  const { uid, name } = object.metadata;
  const table = useMemo(() => {
    const selector = uid === undefined ? `involvedObject.name=${name}` : `involvedObject.uid=${uid}`;
    const inside = place.namespace === undefined ? '' : `/namespaces/${encodeSegment(place.namespace)}`;
    return new LiveTable(
      `${paths.cluster(place.cluster)}/api/v1${inside}/events`,
      new URLSearchParams({ fieldSelector: selector }),
    );
  }, [uid]);
  useEffect(() => () => table.close(), [table]);
  const { rows, state, error, columns } = table;
  const column = (title: string): number => columns.value.findIndex((each) => each.name === title);
  const text = (row: Row, title: string): string => String(row.cells[column(title)] ?? '');
  return (
    <>
      {error.value && <Problem error={error.value} again={() => table.retry()} />}
      {state.value === 'loading' && <Loading what="events" />}
      {state.value === 'live' && rows.value.length === 0 && (
        <Notice tone="quiet" title="No events">
          <p>Nothing was said about it lately. Clusters keep events for an hour, if nobody changed that.</p>
        </Notice>
      )}
      {rows.value.length > 0 && (
        <WideTable label="Events">
          <table class="plain-rows">
            <thead>
              <tr>
                <th scope="col">Type</th>
                <th scope="col">Reason</th>
                <th scope="col">Last seen</th>
                <th scope="col">Message</th>
              </tr>
            </thead>
            <tbody>
              {rows.value.map((row) => (
                <tr key={row.key}>
                  <td>
                    <State tone={toneOf(text(row, 'Type'))}>{text(row, 'Type')}</State>
                  </td>
                  <td>{text(row, 'Reason')}</td>
                  <td>{text(row, 'Last Seen')}</td>
                  <td class="long">{text(row, 'Message')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </WideTable>
      )}
      <CommandLine line={`${kubectl(place)} events --for ${kubectlName(place)}`} />
    </>
  );
}
