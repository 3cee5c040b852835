// The tab of owners and owned objects: owners are named by the object itself, owned objects come from the index, two
// levels deep.
import type { JSX } from 'preact';
import { clusterOf, objectAddress, paths } from '../kube.ts';
import type { Kind, KubeObject, OwnerReference } from '../kube.ts';
import { kindOnCluster, loadKinds } from '../live/kinds.ts';
import { useAnswer } from '../live/resource.ts';
import { kubectl, kubectlName } from './object-view.ts';
import type { ObjectView } from './object-view.ts';
import { Age, CommandLine, Loading, Notice, Problem, State, Warnings, toneOf } from '../parts/parts.tsx';
import { askJson, post } from '../session/api.ts';
import { at, podContainers } from './summary.tsx';

interface Relative {
  readonly object: KubeObject;
  readonly href: string | undefined;
}

interface Relatives {
  /** Sorted from the topmost owner to the nearest. */
  readonly owners: readonly Relative[];
  readonly owned: readonly KubeObject[];
  readonly kinds: readonly Kind[];
  readonly warnings: readonly string[];
}

/**
 * Kinds that the query for owned objects leaves out: they are many and own nothing themselves, and would make it slow.
 */
const uninteresting = new Set(['events', 'leases.coordination.k8s.io', 'endpoints']);
/** Resource metrics, which the index lists but does not keep: they own nothing and are owned by nothing. */
const liveGroup = 'metrics.k8s.io';
const mostOwners = 5;

async function readOwners(view: ObjectView, signal: AbortSignal): Promise<readonly Relative[]> {
  const { cluster, namespace } = view.place;
  const owners: Relative[] = [];
  let references: readonly OwnerReference[] = view.object.metadata.ownerReferences ?? [];
  while (owners.length < mostOwners) {
    const owner = references.find(({ controller }) => controller) ?? references[0];
    if (owner === undefined) break;
    const kind = await kindOnCluster(cluster, owner.apiVersion, { kind: owner.kind }).catch(() => undefined);
    const metadata = { name: owner.name, ...(namespace !== undefined && { namespace }) };
    const href = kind && objectAddress(cluster, kind, metadata);
    const path = href && paths.cluster(cluster) + decodeURI(href.slice(`/console/c/${cluster}`.length));
    const object = path && (await askJson<KubeObject>(path, { signal }).catch(() => undefined));
    owners.unshift({ object: object || { apiVersion: owner.apiVersion, kind: owner.kind, metadata }, href });
    references = (object && object.metadata.ownerReferences) || [];
  }
  return owners;
}

async function readRelatives(view: ObjectView, signal: AbortSignal): Promise<Relatives> {
  const kinds = await loadKinds();
  const resource = kinds
    .filter(({ id, group }) => !uninteresting.has(id) && group !== liveGroup)
    .map(({ plural, version, group }) => `${plural}.${version}.${group}`);
  const below = (
    ownerSeniority: number,
  ): Promise<{ readonly items: readonly KubeObject[]; readonly warnings: readonly string[] }> =>
    post(
      `${paths.index}/query`,
      { resource, clusters: [view.place.cluster], ownerUID: view.object.metadata.uid, ownerSeniority, limit: 500 },
      signal,
    );
  const [owners, children, grandchildren] = await Promise.all([readOwners(view, signal), below(0), below(1)]);
  return {
    owners,
    owned: [...children.items, ...grandchildren.items],
    kinds,
    warnings: [...new Set([...children.warnings, ...grandchildren.warnings])],
  };
}

export function RelatedTab(view: ObjectView): JSX.Element {
  const { place, object } = view;
  const { answer, again } = useAnswer((signal) => readRelatives(view, signal), object.metadata.uid ?? '');
  const { value, error, loading } = answer.value;
  return (
    <>
      {loading && <Loading what="what is related" />}
      {error && <Problem error={error} again={again} />}
      {value && <Warnings texts={value.warnings} />}
      {value && value.owners.length + value.owned.length === 0 && (
        <Notice tone="quiet" title="It stands alone">
          <p>Nothing owns it, and it owns nothing that is in the index and that you may see.</p>
        </Notice>
      )}
      {value && value.owners.length + value.owned.length > 0 && (
        <div class="tree">
          <Level relatives={[...value.owners, { object, href: undefined }]} view={view} rest={value} />
        </div>
      )}
      <CommandLine line={`${kubectl(place)} get ${kubectlName(place)} -o jsonpath='{.metadata.ownerReferences}'`} />
    </>
  );
}

/**
 * Draws each owner as a list inside of the owner above it, then the object in the innermost list, then what it owns.
 */
function Level({
  relatives,
  view,
  rest,
}: {
  relatives: readonly Relative[];
  view: ObjectView;
  rest: Relatives;
}): JSX.Element {
  const [first, ...inner] = relatives;
  return (
    <ul>
      <li>
        <Entry relative={first!} isThis={inner.length === 0} />
        {inner.length > 0 ? (
          <Level relatives={inner} view={view} rest={rest} />
        ) : (
          <Owned by={view.object} rest={rest} depth={0} />
        )}
      </li>
    </ul>
  );
}

function Owned({ by, rest, depth }: { by: KubeObject; rest: Relatives; depth: number }): JSX.Element | null {
  const mine = rest.owned.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid }) => uid === by.metadata.uid),
  );
  if (mine.length === 0 || depth > 3) return null;
  return (
    <ul>
      {mine.map((object) => (
        <li key={object.metadata.uid}>
          <Entry relative={{ object, href: hrefOf(object, rest.kinds) }} isThis={false} />
          <Owned by={object} rest={rest} depth={depth + 1} />
        </li>
      ))}
    </ul>
  );
}

function hrefOf(object: KubeObject, kinds: readonly Kind[]): string | undefined {
  const [version = '', group = ''] = object.apiVersion.split('/').toReversed();
  const kind = kinds.find((each) => each.kind === object.kind && each.group === group && each.version === version);
  return kind && objectAddress(clusterOf(object.metadata), kind, object.metadata);
}

function Entry({ relative: { object, href }, isThis }: { relative: Relative; isThis: boolean }): JSX.Element {
  const { kind, metadata } = object;
  const word = stateOf(object);
  return (
    <span class={isThis ? 'this' : ''}>
      <span class="quiet">{kind}</span>{' '}
      {href === undefined ? <strong>{metadata.name}</strong> : <a href={href}>{metadata.name}</a>}{' '}
      {word !== '' && (
        <State tone={toneOf(word.includes('/') ? (new Set(word.split('/')).size === 1 ? 'Ready' : 'Degraded') : word)}>
          {word}
        </State>
      )}{' '}
      <span class="quiet">
        <Age since={metadata.creationTimestamp} />
      </span>
    </span>
  );
}

/** Returns one word for the state of an object: that of its worst container, its replicas, or its phase. */
function stateOf(object: KubeObject): string {
  if (object.kind === 'Pod') {
    const worst = podContainers(object).find(({ state }) => !['Running', 'Completed'].includes(state));
    return worst?.state ?? String(at(object, 'status.phase') ?? '');
  }
  const wanted = at(object, 'spec.replicas');
  if (typeof wanted === 'number') return `${String(at(object, 'status.readyReplicas') ?? 0)}/${wanted}`;
  return String(at(object, 'status.phase') ?? '');
}
