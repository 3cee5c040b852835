// What all tabs of an object's page use: the object, and the beginning of kubectl commands about it.
import { paths } from '../api/kube.ts';
import type { KubeObject, ObjectPlace } from '../api/kube.ts';
import { quoted } from '../live/question.ts';
import { askJson } from '../api/api.ts';

/** The properties that every tab of an object's page gets. */
export interface ObjectView {
  readonly place: ObjectPlace;
  readonly object: KubeObject;
  /** True when the cluster does not answer and `object` is the copy in the index. */
  readonly isCopy: boolean;
  /** Reads the object again from its cluster, for example after a change. */
  readonly again: () => void;
}

/** Returns the beginning of a kubectl command, with context and namespace of the object. */
export function kubectl({ cluster, namespace }: ObjectPlace): string {
  const where = namespace === undefined ? '' : ` -n ${quoted(namespace)}`;
  return `kubectl --context ${quoted(`portcullis-${cluster}`)}${where}`;
}

/** Returns the object as kubectl commands name it, such as `deployments.apps/web`. */
export function kubectlName({ group, plural, name }: ObjectPlace): string {
  return quoted(`${group === '' ? plural : `${plural}.${group}`}/${name}`);
}

/** The label of a Cluster that is protected: before each change in it, the user has to type a name. */
const protectedLabel = 'console.portcullis.io/protected';

/**
 * Whether a cluster has the label of protected clusters. A cluster whose labels cannot be read is treated as protected.
 */
export async function isProtected(cluster: string, signal?: AbortSignal): Promise<boolean> {
  const found = await askJson<KubeObject>(`${paths.clusters}/${encodeURIComponent(cluster)}`, { signal }).catch(
    () => undefined,
  );
  return found === undefined || (found.metadata.labels?.[protectedLabel] ?? 'false') !== 'false';
}
