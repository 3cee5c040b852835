// The tab with an object's owners and the objects that it owns. The owners are read from owner references, the owned
// objects from the index, two levels deep.
import type { JSX } from 'preact';
import { clusterOf, groupPath, isAt, objectAddress, pathOfPlace, paths, placeOf } from '../api/kube.ts';
import type { Kind, KubeObject, OwnerReference } from '../api/kube.ts';
import { kindOnCluster, loadKinds } from '../live/kinds.ts';
import { quoted } from '../live/question.ts';
import { useAnswer } from '../live/resource.ts';
import { kubectl, kubectlName } from './object-view.ts';
import type { ObjectView } from './object-view.ts';
import { Age, CommandLine, Loading, Notice, Problem, State, Warnings, toneOf } from '../parts/parts.tsx';
import { askJson, post } from '../api/api.ts';
import { at, podContainers } from './summary.tsx';

interface Relative {
  readonly object: KubeObject;
  readonly href: string | undefined;
}

interface Relatives {
  /** Sorted from the topmost owner to the direct one. */
  readonly owners: readonly Relative[];
  readonly owned: readonly KubeObject[];
  readonly kinds: readonly Kind[];
  /** Paths of the index's API that list the owned objects, one for each type and level. */
  readonly lists: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Types that the query for owned objects leaves out: they have many objects that own nothing, which would make the
 * query slow.
 */
const uninteresting = new Set(['events', 'leases.coordination.k8s.io', 'endpoints']);
/** API group of resource metrics. The index can list them but does not store them, and they have no owners. */
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
    const place = kind && placeOf(cluster, kind, metadata);
    const answer =
      place &&
      (await askJson<KubeObject>(paths.cluster(cluster) + pathOfPlace(place), { signal }).catch(() => undefined));
    const object = place && answer && isAt(place, answer) ? answer : undefined;
    const href = kind && place && objectAddress(cluster, kind, metadata);
    owners.unshift({ object: object ?? { apiVersion: owner.apiVersion, kind: owner.kind, metadata }, href });
    references = object?.metadata.ownerReferences ?? [];
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
    lists: [children, grandchildren].flatMap(({ items }, level) => listsOf(items, kinds, view, level)),
    kinds,
    warnings: [...new Set([...children.warnings, ...grandchildren.warnings])],
  };
}

/**
 * Returns paths of the index's API that list these objects. @param level 0 for objects that the object owns, 1 for
 * objects that those own
 */
function listsOf(
  items: readonly KubeObject[],
  kinds: readonly Kind[],
  { place, object }: ObjectView,
  level: number,
): readonly string[] {
  const query = new URLSearchParams({ clusters: place.cluster, ownerUID: object.metadata.uid ?? '' });
  if (level > 0) query.set('ownerSeniority', String(level));
  const found = new Set(items.flatMap((item) => kindOf(item, kinds) ?? []));
  return [...found].map(
    ({ group, version, plural }) => `${paths.copies}${groupPath(group, version)}/${plural}?${query}`,
  );
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
      {object.metadata.ownerReferences !== undefined && (
        <CommandLine line={`${kubectl(place)} get ${kubectlName(place)} -o jsonpath='{.metadata.ownerReferences}'`} />
      )}
      {value?.lists.map((path) => (
        <CommandLine key={path} line={`kubectl --context portcullis get --raw ${quoted(path)}`} />
      ))}
    </>
  );
}

/**
 * Draws nested lists: each owner contains the next one, the innermost owner contains the object, and the object
 * contains what it owns.
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

function kindOf({ apiVersion, kind }: KubeObject, kinds: readonly Kind[]): Kind | undefined {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return kinds.find((each) => each.kind === kind && each.group === group && each.version === version);
}

function hrefOf(object: KubeObject, kinds: readonly Kind[]): string | undefined {
  const kind = kindOf(object, kinds);
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

/**
 * Returns one word for the state of an object: of a Pod's first container that does not run, else the ready replicas
 * such as `2/3`, else the phase.
 */
function stateOf(object: KubeObject): string {
  if (object.kind === 'Pod') {
    const worst = podContainers(object).find(({ state }) => !['Running', 'Completed'].includes(state));
    return worst?.state ?? String(at(object, 'status.phase') ?? '');
  }
  const wanted = at(object, 'spec.replicas');
  if (typeof wanted === 'number') return `${String(at(object, 'status.readyReplicas') ?? 0)}/${wanted}`;
  return String(at(object, 'status.phase') ?? '');
}
