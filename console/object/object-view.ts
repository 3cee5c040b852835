// What the tabs of an object's page share: the object, and the beginnings of kubectl commands about it.
import { paths } from '../kube.ts';
import type { KubeObject, ObjectPlace } from '../kube.ts';
import { quoted } from '../live/question.ts';
import { askJson } from '../session/api.ts';

/** The properties that every tab of an object's page gets. */
export interface ObjectView {
  readonly place: ObjectPlace;
  readonly object: KubeObject;
  /** True when the cluster does not answer and `object` is the copy in the index. */
  readonly isCopy: boolean;
  /** Reads the object again from its cluster, as after a change. */
  readonly again: () => void;
}

/** The beginning of a kubectl command for the object's cluster and namespace. */
export function kubectl({ cluster, namespace }: ObjectPlace): string {
  return `kubectl --context portcullis-${cluster}${namespace === undefined ? '' : ` -n ${namespace}`}`;
}

/** Returns the name of the object for kubectl commands: `deployments.apps/web`. */
export function kubectlName({ group, plural, name }: ObjectPlace): string {
  return `${group === '' ? plural : `${plural}.${group}`}/${quoted(name)}`;
}

/** The label of a cluster in which every change needs a typed name. */
const protectedLabel = 'console.portcullis.io/protected';

/** Whether a cluster is marked as protected; a cluster whose labels the caller may not read is treated as such. */
export async function isProtected(cluster: string, signal?: AbortSignal): Promise<boolean> {
  const found = await askJson<KubeObject>(`${paths.clusters}/${cluster}`, { signal }).catch(() => undefined);
  return found === undefined || (found.metadata.labels?.[protectedLabel] ?? 'false') !== 'false';
}
