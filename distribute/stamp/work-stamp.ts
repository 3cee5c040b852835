// The hub's admission policies by which each ManifestWork names who changed it last. The chart installs the same text.
import { historyAnnotation } from '../../lib/work-history.ts';
import { manifestWorks, ownPrefix, replicaSetLabel } from '../work/manifest-work.ts';
import { makeStampPolicy, modifierAnnotation } from './stamp-policy.ts';

const differs = (field: string): string => `object.metadata.?${field} != oldObject.metadata.?${field}`;
const ownDiffers = [
  `a.startsWith('${ownPrefix}')`,
  `!(a in ['${historyAnnotation}', '${modifierAnnotation}'])`,
  differs('annotations[?a]'),
].join(' && ');

/**
 * CEL that tells whether an update changes what decides about the objects in the cluster: the spec, the label of the
 * ManifestWorkReplicaSet, the order of deletion when the cluster leaves, and all annotations of the gateway except two
 * that no user writes: the history, which the gateway writes, and the annotation with the last author, which the hub
 * writes.
 */
export const workChanges = [
  'object.?spec != oldObject.?spec',
  differs(`labels[?'${replicaSetLabel}']`),
  differs("annotations[?'open-cluster-management.io/cleanup-priority']"),
  `[object, oldObject].exists(o, o.metadata.?annotations.orValue({}).exists(a, ${ownDiffers}))`,
].join(' || ');

export const workStamp = makeStampPolicy({
  name: 'portcullis-last-modifier',
  types: [manifestWorks],
  changes: workChanges,
});
