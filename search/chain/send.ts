// Step 7 of chain.ts: sends the answer. An error before the first byte is thrown and becomes a Status. After a later
// error the client sees a closed connection, or a last event of its watch.
import { GatewayError } from '../../model/errors.ts';
import { watchRows } from '../api/watch.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { sendWhole } from '../answer/answer-body.ts';
import type { Answer, RelayedAnswer, WholeAnswer } from '../api/answer.ts';
import type { IndexRequest } from '../request/request.ts';
import { sendPieces } from '../answer/compressed-body.ts';
import { sendRows } from '../answer/row-stream.ts';

/** An answer that is passed on is requested from at most this number of clusters, until one answers. */
const mostAsked = 3;

export async function send(request: IndexRequest, answer: Answer, dependencies: AnswerDependencies): Promise<void> {
  switch (answer.kind) {
    case 'whole':
      return sendAtOnce(request, answer, dependencies);
    case 'rows':
      return sendRows(request, answer.document, answer.page, answer.warnings, dependencies);
    case 'watch':
      return watchRows(request, answer.watch, dependencies);
    case 'relayed':
      return relay(request, answer);
    case 'live':
      if (await request.everyCluster(answer)) return;
      if (answer.otherwise instanceof GatewayError) throw answer.otherwise;
      return sendAtOnce(request, answer.otherwise, dependencies);
  }
}

async function sendAtOnce(
  request: IndexRequest,
  { body, warnings, contentType, status = 200, headers, error }: WholeAnswer,
  dependencies: AnswerDependencies,
): Promise<void> {
  if (error !== undefined) request.outcome.error ??= error;
  if (status === 200) await sendPieces(request, [body], { warnings, contentType, headers }, dependencies);
  else sendWhole(request, body, warnings, contentType, status, headers);
}

/**
 * Passes on the answer of the first cluster that answers.
 * @throws GatewayError (rejects) the error of the last cluster; INDEX_UNAVAILABLE when there is no cluster
 */
async function relay(request: IndexRequest, { clusters, path, query }: RelayedAnswer): Promise<void> {
  let failure: unknown = new GatewayError('INDEX_UNAVAILABLE', 'no cluster can be asked for its OpenAPI documents');
  for (const cluster of clusters.slice(0, mostAsked)) {
    try {
      await request.live(cluster, path, query);
      return;
    } catch (error) {
      if (request.inbound.answered) throw error;
      failure = error;
    }
  }
  throw failure;
}
