// The page of one object of one cluster. The object is read from the cluster, or, while the cluster does not answer,
// from the index.
import type { JSX } from 'preact';
import { DeleteButton } from '../object/delete.tsx';
import { EventsTab } from '../object/events.tsx';
import { LogsTab } from '../object/logs.tsx';
import { RelatedTab } from '../object/related.tsx';
import { SummaryTab } from '../object/summary.tsx';
import { TerminalTab } from '../object/terminal.tsx';
import { YamlTab } from '../object/yaml.tsx';
import { pathOfPlace, paths } from '../api/kube.ts';
import type { KubeObject, ObjectPlace } from '../api/kube.ts';
import { loadKinds } from '../live/kinds.ts';
import { useAnswer, useTitle } from '../live/resource.ts';
import { kubectl, kubectlName } from '../object/object-view.ts';
import type { ObjectView } from '../object/object-view.ts';
import { CommandLine, Loading, Notice, Problem } from '../parts/parts.tsx';
import { address, here, place as now } from '../api/route.ts';
import { ApiError, askJson } from '../api/api.ts';

async function readObject(place: ObjectPlace, signal: AbortSignal): Promise<Pick<ObjectView, 'object' | 'isCopy'>> {
  void loadKinds().catch(() => undefined);
  const path = pathOfPlace(place);
  try {
    return { object: await askJson<KubeObject>(paths.cluster(place.cluster) + path, { signal }), isCopy: false };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status < 502) throw error;
    const copy = await askJson<KubeObject>(`${paths.copies}/clusters/${encodeURIComponent(place.cluster)}${path}`, {
      signal,
    }).catch(() => undefined);
    if (copy === undefined) throw error;
    return { object: copy, isCopy: true };
  }
}

const hasPods = new Set(['deployments', 'statefulsets', 'daemonsets', 'replicasets', 'jobs']);

function tabsOf({ plural, group }: ObjectPlace): readonly (readonly [string, string])[] {
  const isPod = plural === 'pods' && group === '';
  return [
    ['summary', 'Summary'],
    ['yaml', 'YAML'],
    ['events', 'Events'],
    ['related', 'Related'],
    ...(isPod || hasPods.has(plural) ? [['logs', 'Logs'] as const] : []),
    ...(isPod ? [['terminal', 'Terminal'] as const] : []),
  ];
}

export function ObjectPage({ place }: { place: ObjectPlace }): JSX.Element {
  const { answer, again } = useAnswer((signal) => readObject(place, signal), JSON.stringify(place));
  const { value, error, loading } = answer.value;
  const tab = now.value.query.get('tab') ?? 'summary';
  const tabs = tabsOf(place);
  useTitle(() => `${place.name} in ${place.cluster}`);
  return (
    <section class="page object">
      <nav class="trail" aria-label="Where this is">
        <a href={address(['search'], { kind: idOf(place), q: `cluster:${place.cluster}` })}>{place.cluster}</a>
        {place.namespace !== undefined && (
          <a href={address(['search'], { kind: idOf(place), q: `cluster:${place.cluster} ns:${place.namespace}` })}>
            {place.namespace}
          </a>
        )}
        <span>{value?.object.kind ?? place.plural}</span>
      </nav>
      <div class="head">
        <h1>{place.name}</h1>
        {value && !value.isCopy && <DeleteButton place={place} {...value} again={again} />}
      </div>
      <nav class="tabs" aria-label="Sides of the object">
        {tabs.map(([id, title]) => (
          <a
            key={id}
            href={here({ tab: id === 'summary' ? undefined : id })}
            aria-current={tab === id ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {loading && <Loading what={place.name} />}
      {error && <Problem error={error} again={again} />}
      {value?.isCopy && (
        <Notice tone="warn" title={`${place.cluster} does not answer`}>
          <p>This is the copy of the index. It may be old, and it cannot be changed.</p>
        </Notice>
      )}
      {value && <Tab tab={tab} view={{ place, ...value, again }} />}
      {error && <CommandLine line={`${kubectl(place)} get ${kubectlName(place)} -o yaml`} />}
    </section>
  );
}

function idOf({ plural, group }: ObjectPlace): string {
  return group === '' ? plural : `${plural}.${group}`;
}

function Tab({ tab, view }: { tab: string; view: ObjectView }): JSX.Element {
  switch (tab) {
    case 'yaml':
      return <YamlTab {...view} />;
    case 'events':
      return <EventsTab {...view} />;
    case 'related':
      return <RelatedTab {...view} />;
    case 'logs':
      return <LogsTab {...view} />;
    case 'terminal':
      return <TerminalTab {...view} />;
    default:
      return <SummaryTab {...view} />;
  }
}
