// Sends one access review to each of several clusters, and answers with a List of the clusters' reviews. A review is a
// POST, but it changes nothing, so it needs no cluster selector. Its body is limited to 64 KiB.
import type { ClusterSpec } from '../../model/records.ts';
import { readWhole } from '../../routing/members/member-call.ts';
import { readBody } from '../../request/answer/request-body.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import { jsonResponse } from '../../request/answer/status.ts';
import { memberAccept, memberHeaders } from './members/accept.ts';
import { IncompleteAnswer } from './lists/list-answer.ts';
import type { ListParts } from './lists/list-answer.ts';
import { markedDocument } from './get-answer.ts';
import { membersAtOnce } from './members/members.ts';
import { inTurns } from '../../lib/concurrency/in-turns.ts';
import {
  errorOfAll,
  missingAnnotation,
  missingByAnswer,
  missingByError,
  missingText,
  warningHeaders,
} from './members/missing.ts';
import type { Missing } from './members/missing.ts';
import { memberPath } from './members/query.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

/**
 * Maximum bytes of a review that a client sends, and of one cluster's answer to it. Reviews have a few hundred bytes;
 * an answer with all rules of one user can have tens of kilobytes.
 */
const maxQuestionBytes = 64 * 1024;
const maxReviewBytes = 4 * 1024 * 1024;

const reviews: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['authentication.k8s.io', new Set(['selfsubjectreviews'])],
  ['authorization.k8s.io', new Set(['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews'])],
]);

/** Whether a request is a review of rights or identity: a create of one of the four review kinds. */
export function isReview({ verb, apiGroup, resource, subresource, name }: RequestInfo): boolean {
  return verb === 'create' && subresource === '' && name === '' && (reviews.get(apiGroup)?.has(resource) ?? false);
}

/**
 * Answers with a `List` of the clusters' reviews, each with the annotation that names its cluster.
 * @throws GatewayError (rejects) before the answer began; IncompleteAnswer when no cluster answered, or with
 * `partial=false` when at least one did not answer
 */
export async function answerReview(parts: ListParts, clusters: readonly ClusterSpec[]): Promise<void> {
  const { state, members, writer, query, path } = parts;
  const headers = memberHeaders(state.headers, memberAccept(state.headers), true);
  const body = await readBody(state.inbound, maxQuestionBytes);
  state.progress.bytesIn += body.length;
  const question = {
    method: 'POST',
    path: memberPath(path, query.rest),
    headers,
    body,
    longRunning: false,
    signal: writer.signal,
  };
  const missing: Missing[] = [];
  const items = await inTurns(clusters, membersAtOnce, async (cluster): Promise<unknown> => {
    try {
      const answer = await members.ask(cluster, question);
      if (answer.status < 300) {
        const marked = markedDocument(await readWhole(answer, maxReviewBytes), cluster.name);
        return parseExact(marked);
      }
      missing.push(await missingByAnswer(cluster.name, answer));
    } catch (error) {
      missing.push(missingByError(cluster.name, error));
    }
    return undefined;
  });
  writer.signal.throwIfAborted();
  missing.sort((a, b) => (a.cluster < b.cluster ? -1 : 1));
  const answered = items.filter((item) => item !== undefined);
  if (missing.length > 0 && (answered.length === 0 || !query.partial)) {
    throw new IncompleteAnswer(missing, answered.length === 0 ? errorOfAll(missing) : undefined);
  }
  const annotations = missing.length === 0 ? {} : { annotations: { [missingAnnotation]: missingText(missing) } };
  const list = { apiVersion: 'v1', kind: 'List', metadata: annotations, items: answered };
  writer.head(200, warningHeaders(missing));
  await writer.write(jsonResponse(list, state.auditId).body);
  writer.end();
}
