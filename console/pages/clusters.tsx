// The page with all clusters that the user may list, each with its state and the reason for that state.
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { paths } from '../api/kube.ts';
import type { Condition, KubeObject } from '../api/kube.ts';
import { LiveTable } from '../live/live-table.ts';
import { quoted } from '../live/question.ts';
import type { Row } from '../live/live-table.ts';
import { useAnswer, useTitle } from '../live/resource.ts';
import { Conditions } from '../parts/conditions.tsx';
import { LiveRows, readSorting, sorted } from '../parts/live-rows.tsx';
import type { ShownColumn } from '../parts/live-rows.tsx';
import { Age, CommandLine, Loading, Notice, Pairs, Problem, Said, State, toneOf, Warnings } from '../parts/parts.tsx';
import type { Tone } from '../parts/parts.tsx';
import { address, go, here, place } from '../api/route.ts';
import { askJson } from '../api/api.ts';

interface Facets {
  readonly facets: readonly { readonly value: string; readonly count: number }[];
}

/**
 * Returns tone (colour and shape) and one word for a cluster's state. @param available the `Available` column @param
 * reason the `Reason` column
 */
export function clusterState(available: string, reason: string): readonly [Tone, string] {
  if (available === 'True') return ['good', 'Available'];
  if (available === 'False') return ['bad', reason || 'Not available'];
  return ['warn', reason || 'Unknown'];
}

export function ClustersPage(): JSX.Element {
  useTitle(() => 'Clusters');
  const table = useMemo(() => new LiveTable(paths.clusters, new URLSearchParams()), []);
  useEffect(() => () => table.close(), []);
  const { answer: pods } = useAnswer(
    (signal) => askJson<Facets>(`${paths.index}/facets?resource=pods&by=cluster&limit=1000`, { signal }),
    `pods ${table.rows.value.length}`,
  );
  const counts = new Map(pods.value.value?.facets.map(({ value, count }) => [value, count]));
  const rows = table.rows.value;
  const open = place.value.query.get('cluster') ?? undefined;
  const well = rows.filter((row) => cell(table, row, 'Available') === 'True').length;
  const { error, state } = { error: table.error.value, state: table.state.value };
  const columns = columnsOf(table, counts);
  const sorting = readSorting();
  return (
    <section class="page">
      <div class="head">
        <h1>Clusters</h1>
        {state !== 'loading' && (
          <p class="quiet">
            {well} of {rows.length} available
          </p>
        )}
      </div>
      <Said text={state === 'loading' ? '' : `${well} of ${rows.length} clusters are available`} />
      {error && <Problem error={error} again={() => table.retry()} />}
      <Warnings texts={pods.value.value?.warnings ?? []} />
      {state === 'loading' && <Loading what="clusters" />}
      {state === 'live' && rows.length === 0 && (
        <Notice tone="quiet" title="There are no clusters yet">
          <p>
            The gateway takes them from kubeconfig files (<code>--kubeconfig</code>) and from objects of a hub. You see
            those that you may list.
          </p>
        </Notice>
      )}
      {rows.length > 0 && (
        <div class={open ? 'split' : ''}>
          <LiveRows
            label="Clusters"
            rows={sorted(rows, columns, sorting)}
            columns={columns}
            sorting={sorting}
            onSort={(next) =>
              go(here({ sort: next === undefined ? undefined : `${next.down ? '-' : ''}${next.by}` }), true)
            }
            hrefOf={(row) => here({ cluster: row.metadata.name })}
          />
          {open && <ClusterDetails key={open} name={open} />}
        </div>
      )}
      <CommandLine line="kubectl --context portcullis get clusters.gateway.portcullis.io -o wide" />
    </section>
  );
}

function cell(table: LiveTable, row: Row, name: string): string {
  const at = table.columns.value.findIndex((column) => column.name === name);
  return String(row.cells[at] ?? '');
}

function columnsOf(table: LiveTable, counts: ReadonlyMap<string, number>): readonly ShownColumn[] {
  const text = (name: string, wide = false): ShownColumn => ({
    name,
    wide,
    value: (row) => cell(table, row, name),
    cell: (row) => cell(table, row, name),
  });
  const stateOf = (row: Row): readonly [Tone, string] =>
    clusterState(cell(table, row, 'Available'), cell(table, row, 'Reason'));
  return [
    {
      name: 'Name',
      value: (row) => row.metadata.name,
      cell: ({ metadata: { name } }) => (
        <a class="row" href={here({ cluster: name })}>
          {name}
        </a>
      ),
    },
    {
      name: 'State',
      value: (row) => stateOf(row)[1],
      cell: (row) => <State tone={stateOf(row)[0]}>{stateOf(row)[1]}</State>,
    },
    text('Version'),
    {
      name: 'Pods',
      description: 'Pods in the index that you may list',
      value: (row) => counts.get(row.metadata.name) ?? 0,
      cell: ({ metadata: { name } }) => (
        <a href={address(['search'], { kind: 'pods', q: `cluster:${name}` })}>{counts.get(name) ?? 0}</a>
      ),
    },
    {
      name: 'Index',
      description: 'How far the index has copied the cluster',
      value: (row) => cell(table, row, 'Index'),
      cell: (row) => <State tone={toneOf(cell(table, row, 'Index'))}>{cell(table, row, 'Index')}</State>,
    },
    text('Latency', true),
    text('Source', true),
    {
      name: 'Age',
      wide: true,
      value: (row) => row.metadata.creationTimestamp,
      cell: (row) => <Age since={row.metadata.creationTimestamp} />,
    },
  ];
}

interface ClusterFreshness {
  readonly cluster: string;
  readonly resources: readonly {
    readonly resource: string;
    readonly phase: string;
    readonly whole: boolean;
    readonly ageSeconds?: number;
    readonly fault?: string;
    readonly lagMilliseconds?: number;
  }[];
}

function ClusterDetails({ name }: { name: string }): JSX.Element {
  const { answer, again } = useAnswer(async (signal) => {
    const [cluster, freshness] = await Promise.all([
      askJson<KubeObject>(`${paths.clusters}/${encodeURIComponent(name)}`, { signal }),
      askJson<{ clusters: readonly ClusterFreshness[] }>(`${paths.index}/freshness`, { signal }).catch(() => undefined),
    ]);
    return { cluster, copies: freshness?.clusters.find(({ cluster: each }) => each === name)?.resources ?? [] };
  }, name);
  const { value, error, loading } = answer.value;
  return (
    <aside aria-label={`Cluster ${name}`}>
      <div class="head">
        <h2>{name}</h2>
        <a href={here({ cluster: undefined })}>Close</a>
      </div>
      {loading && <Loading what={name} />}
      {error && <Problem error={error} again={again} />}
      {value && <ClusterFacts {...value} />}
    </aside>
  );
}

function ClusterFacts({
  cluster,
  copies,
}: {
  cluster: KubeObject;
  copies: ClusterFreshness['resources'];
}): JSX.Element {
  const spec = cluster.spec as { server?: string; credential?: string; source?: { type: string } } | undefined;
  const status = cluster.status as
    | { version?: { kubernetes?: string }; latencyMilliseconds?: number; conditions?: readonly Condition[] }
    | undefined;
  const { name, labels = {}, creationTimestamp } = cluster.metadata;
  const behind = copies.filter(({ whole, phase }) => !whole || phase !== 'watching');
  const oldest = Math.max(0, ...copies.map(({ ageSeconds = 0 }) => ageSeconds));
  return (
    <>
      <Pairs
        rows={[
          ['Version', status?.version?.kubernetes],
          ['Server', spec?.server],
          ['Source', spec?.source?.type],
          ['Credential', spec?.credential],
          ['Labels', Object.entries(labels).map(([key, value]) => <code key={key}>{`${key}=${value}`}</code>)],
          ['Known for', <Age key="age" since={creationTimestamp} />],
          [
            'In the index',
            copies.length === 0 ? 'nothing' : `${copies.length} types, confirmed ${oldest} s ago or later`,
          ],
        ]}
      />
      <Conditions conditions={status?.conditions ?? []} />
      {behind.length > 0 && (
        <>
          <h3>Not up to date in the index</h3>
          <ul>
            {behind.map(({ resource, phase, fault }) => (
              <li key={resource}>
                <code>{resource}</code> {phase} {fault}
              </li>
            ))}
          </ul>
        </>
      )}
      <p>
        <a href={address(['search'], { kind: 'pods', q: `cluster:${name}` })}>Pods in {name}</a>
      </p>
      <CommandLine line={`kubectl --context portcullis get clusters.gateway.portcullis.io ${quoted(name)} -o yaml`} />
    </>
  );
}
