// The page of ManifestWorks: what is distributed to which cluster, and whether it is applied. ManifestWorks are objects
// of the hub, so they are found here only if the hub is one of the clusters in the index.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { clusterOf, objectAddress, paths } from '../api/kube.ts';
import type { Condition, Kind, KubeObject } from '../api/kube.ts';
import { findKind, kinds, loadKinds } from '../live/kinds.ts';
import { quoted } from '../live/question.ts';
import { useAnswer, useTitle } from '../live/resource.ts';
import { Age, CommandLine, Loading, Notice, Problem, State, Warnings, WideTable } from '../parts/parts.tsx';
import type { Tone } from '../parts/parts.tsx';
import { address } from '../api/route.ts';
import { post } from '../api/api.ts';

/** The resource type of ManifestWorks, as the index names it. */
export const worksKind = 'manifestworks.work.open-cluster-management.io';
const mostWorks = 1000;
const refreshMs = 5000;

export function WorksPage(): JSX.Element {
  useTitle(() => 'Works');
  const { answer, again } = useAnswer(() => loadKinds(), '');
  const { loading, error } = answer.value;
  const kind = kinds.value && findKind(kinds.value, worksKind);
  return (
    <section class="page">
      <h1>Works</h1>
      {loading && kinds.value === undefined && <Loading what="the kinds of objects" />}
      {error && <Problem error={error} again={again} />}
      {kinds.value !== undefined && kind === undefined && (
        <Notice tone="quiet" title="There are no works here">
          <p>
            A ManifestWork says on the hub what a cluster shall have. They are found here when the hub is one of the
            clusters of the gateway and <code>{worksKind}</code> are in the index (<code>--index-resources</code>).
          </p>
        </Notice>
      )}
      {kind && <Works kind={kind} />}
    </section>
  );
}

function Works({ kind }: { kind: Kind }): JSX.Element {
  const { answer, again } = useAnswer((signal) => readWorks(kind, signal), '');
  const { value, error, loading } = answer.value;
  useEffect(() => {
    const timer = setInterval(() => void (document.hidden || again()), refreshMs);
    return () => clearInterval(timer);
  }, []);
  const works = value?.items ?? [];
  const well = works.filter((work) => stateOf(work)[0] === 'good').length;
  return (
    <>
      {loading && <Loading what="works" />}
      {error && <Problem error={error} again={again} />}
      {value && <Warnings texts={value.warnings} />}
      {value && works.length === 0 && (
        <Notice tone="quiet" title="There are no works">
          <p>Nobody distributes anything by ManifestWorks, or your rights on the hub do not show them.</p>
        </Notice>
      )}
      {works.length > 0 && (
        <p class="summary">
          <strong>{well}</strong> of {works.length} are applied and available
          {works.length === mostWorks && <span class="quiet"> · only the first {mostWorks} are shown</span>}
        </p>
      )}
      {works.length > 0 && <WorkRows kind={kind} works={works} />}
      <CommandLine line={`kubectl --context portcullis-all get ${quoted(worksKind)} -A`} />
    </>
  );
}

async function readWorks(
  { plural, version, group }: Kind,
  signal: AbortSignal,
): Promise<{ readonly items: readonly KubeObject[]; readonly warnings: readonly string[] }> {
  const { items, warnings } = await post<{ readonly items: readonly KubeObject[] }>(
    `${paths.index}/query`,
    { resource: [`${plural}.${version}.${group}`], limit: mostWorks },
    signal,
  );
  const key = ({ metadata: { name, namespace = '' } }: KubeObject): string => `${name} ${namespace}`;
  return { items: items.toSorted((a, b) => key(a).localeCompare(key(b), 'en', { numeric: true })), warnings };
}

function WorkRows({ kind, works }: { kind: Kind; works: readonly KubeObject[] }): JSX.Element {
  return (
    <WideTable label="Works">
      <table class="plain-rows">
        <thead>
          <tr>
            <th scope="col">Work</th>
            <th scope="col">In cluster</th>
            <th scope="col">State</th>
            <th scope="col">Objects</th>
            <th scope="col">Age</th>
            <th scope="col">What it says</th>
          </tr>
        </thead>
        <tbody>
          {works.map((work) => {
            const { name, namespace = '', creationTimestamp } = work.metadata;
            const hub = clusterOf(work.metadata);
            const [tone, word, message] = stateOf(work);
            return (
              <tr key={`${hub} ${namespace}/${name}`}>
                <th scope="row">
                  <a href={objectAddress(hub, kind, work.metadata)}>{name}</a>
                </th>
                <td>
                  <a href={address(['clusters'], { cluster: namespace })}>{namespace}</a>
                </td>
                <td>
                  <State tone={tone}>{word}</State>
                </td>
                <td>{manifestsOf(work)}</td>
                <td>
                  <Age since={creationTimestamp} />
                </td>
                <td class="long quiet">{message}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </WideTable>
  );
}

/** Returns tone, word and message for the state of a work, from its conditions Applied and Available. */
function stateOf({ metadata, status }: KubeObject): readonly [Tone, string, string] {
  const conditions = (status?.['conditions'] ?? []) as readonly Condition[];
  if (metadata.deletionTimestamp !== undefined) return ['busy', 'Terminating', ''];
  const [applied, available] = ['Applied', 'Available'].map((type) => conditions.find((each) => each.type === type));
  if (applied === undefined) return ['busy', 'Waiting', 'The cluster has not taken it up yet.'];
  const message = (condition: Condition | undefined): string => condition?.message ?? '';
  if (applied.status !== 'True') return ['bad', 'Not applied', message(applied)];
  if (available?.status === 'False') return ['warn', 'Not available', message(available)];
  if (available?.status !== 'True') return ['busy', 'Applied', message(available)];
  return ['good', 'Available', ''];
}

function manifestsOf({ spec }: KubeObject): number {
  const { manifests = [] } = (spec?.['workload'] ?? {}) as { readonly manifests?: readonly unknown[] };
  return manifests.length;
}
