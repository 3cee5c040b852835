// What the tabs of an object's page share: the object, and the beginnings of kubectl commands about it.
import type { KubeObject, ObjectPlace } from '../kube.ts';
import { quoted } from '../live/question.ts';

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
