// Hands requests for the index from the chain to the search room, which knows nothing of the chain. It gets the
// authorized user and the headers without credentials, never those the caller sent.
import { GatewayError } from '../../../cache/model/errors.ts';
import { headerValues } from '../../../routing/forward/headers.ts';
import type { IndexRequest } from '../../../search/api/request.ts';
import type { Authorized } from '../../exchange.ts';
import { jsonResponse } from '../../status.ts';
import type { CompleteResponse } from '../../status.ts';
import { acceptedForm } from '../accept.ts';
import { indexGroupDocument } from './index-groups.ts';
import type { IndexSurface } from './index-groups.ts';
import type { LiveQuestion } from './index-live.ts';
import { readJsonBody } from '../request-body.ts';

/** Answers a question to the index; resolves when the exchange is over. */
export type AnswerIndex = (request: IndexRequest) => Promise<void>;

/** The index, and a way to ask a cluster instead. */
export interface IndexAnswers {
  readonly answer: AnswerIndex;
  /** Asks one cluster as the caller. */
  readonly live: (state: Authorized, question: LiveQuestion) => Promise<void>;
}

/**
 * Answers one request to the index.
 * @returns an answer to send, or a promise that resolves when the search room has sent its own
 * @throws GatewayError (or rejects with it) before anything was sent
 */
export function answerIndex(
  state: Authorized,
  surface: IndexSurface,
  { answer, live }: IndexAnswers,
): CompleteResponse | Promise<void> {
  if (surface.part === 'documents') {
    if (state.inbound.method !== 'GET' && state.inbound.method !== 'HEAD') {
      throw new GatewayError('METHOD_NOT_ALLOWED', 'only GET is served here');
    }
    acceptedForm(state.headers, ['']);
    return jsonResponse(indexGroupDocument(surface.group, surface.document), state.auditId);
  }
  const { inbound, headers, target, user, auditId, progress, observation } = state;
  return answer({
    asked: surface,
    inbound,
    headers,
    query: target.query,
    user,
    auditId,
    progress,
    outcome: observation,
    // A hub's kube-apiserver names the user in this header. For other callers that send it, it only shortens watches.
    aggregated: headerValues(inbound.headers, 'x-remote-user').length > 0,
    live: (cluster, path, query) => live(state, { cluster, path, query }),
    form: (forms) => acceptedForm(headers, forms),
    body: () => readJsonBody(inbound),
  });
}
