// Keeps the executed specs of a ManifestWork in an annotation of the work, for people who want to go back to an earlier
// spec.
import type { ApiObject } from '../../kube/types.ts';
import { generationOf } from '../../kube/objects/conditions.ts';
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import { historyAnnotation, isRecorded, withRevision } from '../../lib/work-history.ts';
import { manifestWorks, objectAt } from './manifest-work.ts';

/**
 * Records the spec that is about to be executed in the ManifestWork's annotation, once for each generation.
 * @param limit how many specs the annotation keeps; with 0, none is recorded
 * @returns the work as it is afterwards
 * @throws HubRefusal, with status 409 when the work has changed since it was read
 */
export async function keepRevision(writer: ObjectWriter, work: ApiObject, limit: number): Promise<ApiObject> {
  const revision = generationOf(work);
  const { annotations = {}, resourceVersion } = work.metadata;
  if (limit === 0 || revision === undefined || isRecorded(annotations, revision)) return work;
  const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const text = await withRevision(annotations, { revision, time, spec: objectAt(work, 'spec') }, limit);
  const metadata = { resourceVersion, annotations: { [historyAnnotation]: text } };
  return await writer.patch(manifestWorks, work, { metadata });
}
