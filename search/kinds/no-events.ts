// The Events about one object, as kubectl describe asks for them, when neither the index has them nor a cluster can be
// asked. For some kinds kubectl describe fails when that request fails, so the answer is an empty list.
import type { GatewayError } from '../../model/errors.ts';
import type { Parameters } from '../../query/parameters.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { jsonAnswer } from '../api/answer.ts';
import type { WholeAnswer } from '../api/answer.ts';
import { apiVersionOf } from '../catalog/catalog.ts';
import type { AskedObjects } from '../request/inner-path.ts';
import type { IndexRequest } from '../request/request.ts';
import { aboutRequest } from './plan-types.ts';

/** Whether this is a request for the Events about one object. */
export function isEventsOfObject({ group, resource }: AskedObjects, parameters: Parameters): boolean {
  const selector = parameters.text('fieldSelector') ?? '';
  return (
    ['', 'events.k8s.io'].includes(group) && resource === 'events' && /involvedObject\.|regarding\./.test(selector)
  );
}

/** An empty list of Events, with a warning that says why there are none. */
export function noEvents(
  request: IndexRequest,
  { group, version }: AskedObjects,
  why: GatewayError,
  { store }: AnswerDependencies,
): WholeAnswer {
  request.form(['']);
  const metadata = { resourceVersion: store.resourceVersion() };
  const list = { kind: 'EventList', apiVersion: apiVersionOf(group, version), metadata, items: [] };
  return jsonAnswer(list, aboutRequest(why.message));
}
