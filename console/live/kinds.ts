// Knows the resource types. Those in the index, of all clusters together, are read once after login. For an object of
// another type, the discovery of its cluster is read.
import { signal } from '@preact/signals';
import { askJson } from '../api/api.ts';
import { groupPath, paths } from '../api/kube.ts';
import type { Kind } from '../api/kube.ts';
import { encodeSegment } from '../api/route.ts';

interface GroupList {
  readonly items: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources?: readonly {
        readonly resource: string;
        readonly responseKind?: { readonly kind?: string };
        readonly scope: string;
        readonly shortNames?: readonly string[];
      }[];
    }[];
  }[];
}

const aggregated = 'application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io';

/** The types in the index of which the user may see objects; undefined until they have been read. */
export const kinds = signal<readonly Kind[] | undefined>(undefined);
let asked: Promise<readonly Kind[]> | undefined;

/** Reads the types in the index, unless they have been read or are being read. */
export function loadKinds(): Promise<readonly Kind[]> {
  asked ??= readKinds().catch((error: unknown) => {
    asked = undefined;
    throw error;
  });
  return asked;
}

/** Forgets the types at login and logout, since another user may see other types. */
export function forgetKinds(): void {
  asked = undefined;
  kinds.value = undefined;
}

async function readKinds(): Promise<readonly Kind[]> {
  const [core, groups] = await Promise.all(
    ['/api', '/apis'].map((path) => askJson<GroupList>(paths.copies + path, { accept: aggregated })),
  );
  const found = [...core!.items, ...groups!.items].flatMap(({ metadata, versions }) =>
    versions.flatMap(({ version, resources = [] }) =>
      resources.map((each) => kindOf(metadata?.name ?? '', version, each)),
    ),
  );
  kinds.value = [...new Map(found.toReversed().map((kind) => [kind.id, kind])).values()].toSorted(byUse);
  return kinds.value;
}

function kindOf(
  group: string,
  version: string,
  {
    resource,
    responseKind,
    scope,
    shortNames = [],
  }: NonNullable<GroupList['items'][number]['versions'][number]['resources']>[number],
): Kind {
  const id = group === '' ? resource : `${resource}.${group}`;
  return {
    id,
    group,
    version,
    plural: resource,
    kind: responseKind?.kind ?? resource,
    namespaced: scope === 'Namespaced',
    shortNames,
  };
}

/** The types that people look for most. Lists of types begin with these; the others follow by name. */
const first = [
  'pods',
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'services',
  'ingresses.networking.k8s.io',
  'configmaps',
  'jobs.batch',
  'nodes',
  'namespaces',
];

function byUse(a: Kind, b: Kind): number {
  const rank = ({ id }: Kind): number => (first.includes(id) ? first.indexOf(id) : first.length);
  return rank(a) - rank(b) || a.id.localeCompare(b.id);
}

/** Finds the type for a plural name, kind, short name or id. If several match, the core and apps groups come first. */
export function findKind(all: readonly Kind[], text: string): Kind | undefined {
  const name = text.toLowerCase();
  return (
    all.find(({ id }) => id === name) ??
    all.find(
      ({ plural, kind, shortNames }) => plural === name || kind.toLowerCase() === name || shortNames.includes(name),
    )
  );
}

interface ResourceList {
  readonly resources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly shortNames?: readonly string[];
  }[];
}

/**
 * Finds a resource type by kind or plural name, in the index or in the discovery of one cluster; undefined when the
 * cluster does not serve it.
 */
export async function kindOnCluster(
  cluster: string,
  apiVersion: string,
  is: { kind?: string; plural?: string },
): Promise<Kind | undefined> {
  const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/') as [string, string]) : ['', apiVersion];
  const known = (kinds.peek() ?? []).find(
    (each) => each.group === group && each.version === version && (each.kind === is.kind || each.plural === is.plural),
  );
  if (known !== undefined) return known;
  const { resources } = await askJson<ResourceList>(
    paths.cluster(cluster) + groupPath(encodeSegment(group), encodeSegment(version)),
  );
  const found = resources.find(({ name, kind }) => !name.includes('/') && (name === is.plural || kind === is.kind));
  if (found === undefined) return undefined;
  const id = group === '' ? found.name : `${found.name}.${group}`;
  return {
    id,
    group,
    version,
    plural: found.name,
    kind: found.kind,
    namespaced: found.namespaced,
    shortNames: found.shortNames ?? [],
  };
}
