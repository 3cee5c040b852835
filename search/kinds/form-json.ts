// Makes answers that are a single small JSON document or text.
import { GatewayError } from '../../model/errors.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import type { Warning } from '../answer/answer-body.ts';
import { jsonAnswer } from '../api/answer.ts';
import type { WholeAnswer } from '../api/answer.ts';
import { searchVersion } from '../catalog/catalog.ts';
import type { AboutQuestion, IndexesQuestion, Question } from '../api/question.ts';
import type { Fetched } from '../api/state.ts';

/** Makes a JSON answer of what `fetch` returned, without changing it. */
export function formJson({
  plan,
  found,
}: Fetched<Question, unknown, { readonly warnings: readonly Warning[] } | undefined, object>): WholeAnswer {
  return jsonAnswer(found, plan?.warnings);
}

/**
 * Answers a request for the index as an object, or for the list of indexes.
 * @throws GatewayError NOT_FOUND for any name but `default`
 */
export function formIndexes(
  { question: { name } }: Fetched<IndexesQuestion>,
  { store }: AnswerDependencies,
): WholeAnswer {
  const resourceVersion = store.resourceVersion();
  const index = {
    kind: 'Index',
    apiVersion: searchVersion,
    metadata: { name: 'default', resourceVersion, creationTimestamp: null },
  };
  if (name === 'default') return jsonAnswer(index);
  if (name === undefined)
    return jsonAnswer({ kind: 'IndexList', apiVersion: searchVersion, metadata: { resourceVersion }, items: [index] });
  throw new GatewayError('NOT_FOUND', `indexes.search.portcullis.io ${JSON.stringify(name)} not found`, {
    kind: 'indexes',
    group: 'search.portcullis.io',
    name,
  });
}

export function formVersion(_: Fetched<AboutQuestion>, { version }: AnswerDependencies): WholeAnswer {
  return jsonAnswer(version());
}

export function formHealth(): WholeAnswer {
  return { kind: 'whole', body: Buffer.from('ok'), warnings: [], contentType: 'text/plain; charset=utf-8' };
}
