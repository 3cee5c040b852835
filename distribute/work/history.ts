// Keeps the executed specs of a ManifestWork in an annotation of the work, for people who want to go back to an earlier
// spec.
import { objectAt } from '../../lib/objects/json-object.ts';
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import { historyAnnotation, isRecorded, withRevision } from '../../lib/work-history.ts';
import { manifestWorks } from './manifest-work.ts';
import { readWork, type Work } from './work.ts';

/**
 * Records the spec that is about to be executed in the ManifestWork's annotation, once for each generation.
 * @param limit how many specs the annotation keeps; with 0, none is recorded
 * @returns the work as it is afterwards
 * @throws HubRefusal, with status 409 when the work has changed since it was read
 */
export async function keepRevision(writer: ObjectWriter, work: Work, limit: number): Promise<Work> {
  const { generation: revision, object } = work;
  const { annotations = {}, resourceVersion } = object.metadata;
  if (limit === 0 || revision === undefined || isRecorded(annotations, revision)) return work;
  const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const text = await withRevision(annotations, { revision, time, spec: objectAt(object, 'spec') }, limit);
  const metadata = { resourceVersion, annotations: { [historyAnnotation]: text } };
  return readWork(await writer.patch(manifestWorks, object, { metadata }));
}
