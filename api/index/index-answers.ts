// Passes requests for the index (the search over objects of all clusters) from the request chain to the code in
// `search`, which does not import the chain. Security: the code in `search` gets the authorized user and headers
// without credentials, never the headers that the caller sent.
import { GatewayError } from '../../model/errors.ts';
import { headerValues } from '../../http/raw-headers.ts';
import type { EveryCluster, IndexRequest } from '../../search/request/request.ts';
import type { Authorized } from '../../request/exchange.ts';
import { jsonResponse } from '../../request/answer/status.ts';
import type { CompleteResponse } from '../../request/answer/status.ts';
import { acceptedForm } from '../../request/answer/accept.ts';
import type { DiscoveryDocuments } from '../../request/discovery.ts';
import type { IndexSurface, ProxyingSurface } from '../../request/index-groups.ts';
import { metricsQuestion } from './metrics-question.ts';
import type { MetricsQuestion } from './metrics-question.ts';
import { readJsonBody } from '../../request/answer/request-body.ts';
import { innerInfo, isForIndex } from '../../request/proxying-request.ts';

/** A read request that the index cannot answer and that is sent to one cluster. */
export interface LiveQuestion {
  readonly cluster: string;
  /** Path on the cluster, for example `/api/v1/pods`, without a query. */
  readonly path: string;
  /** The query string with its `?`, or ''. */
  readonly query: string;
}

/**
 * Answers a request for the index and sends the answer itself; resolves when it has been sent or the client has gone.
 */
export type AnswerIndex = (request: IndexRequest) => Promise<void>;

/** The functions that answer requests for the index: from the index's own rows, or by asking one or all clusters. */
export interface IndexAnswers {
  readonly answer: AnswerIndex;
  /** Sends the read request to one cluster as the caller and relays the cluster's answer. */
  readonly live: (state: Authorized, question: LiveQuestion) => Promise<void>;
  /**
   * Sends a request about one object, as the caller, to the cluster that has the object, and relays the cluster's
   * answer.
   */
  readonly owner: (state: Authorized, surface: ProxyingSurface) => Promise<void>;
  /** Sends the read request to every cluster as the caller; see {@link IndexRequest.everyCluster}. */
  readonly everyCluster: (state: Authorized, asked: EveryCluster) => Promise<boolean>;
  /** Asks the clusters for resource metrics, as the caller, and joins their answers. */
  readonly metrics: (state: Authorized, question: MetricsQuestion) => Promise<void>;
}

/**
 * Answers one request to the index.
 * @param discovery the documents of the index's groups
 * @returns an answer for the caller of this function to send, or a promise that resolves when the answer has been sent
 * already
 * @throws GatewayError (or rejects with it), always before any byte was sent
 */
export function answerIndex(
  state: Authorized,
  surface: IndexSurface,
  { answer, live, everyCluster, owner, metrics }: IndexAnswers,
  discovery: DiscoveryDocuments,
): CompleteResponse | Promise<void> {
  if (surface.part === 'proxying' && !isForIndex(innerInfo(state, surface), state.inbound.method))
    return owner(state, surface);
  if (surface.part === 'documents') {
    if (state.inbound.method !== 'GET' && state.inbound.method !== 'HEAD') {
      throw new GatewayError('METHOD_NOT_ALLOWED', 'only GET and HEAD are allowed on this path');
    }
    acceptedForm(state.headers, ['']);
    const documents = surface.document === 'group' ? discovery.groups : discovery.resources;
    return jsonResponse(documents.get(surface.group), state.auditId);
  }
  const measured = metricsQuestion(surface);
  if (measured !== undefined) return metrics(state, measured);
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
    // True when a hub's kube-apiserver relayed the request, because a kube-apiserver names the user in the header
    // X-Remote-User. If any other client sends this header, only its own watches end earlier, which does no harm.
    aggregated: headerValues(inbound.headers, 'x-remote-user').length > 0,
    live: (cluster, path, query) => live(state, { cluster, path, query }),
    everyCluster: (asked) => everyCluster(state, asked),
    form: (forms) => acceptedForm(headers, forms),
    body: () => readJsonBody(inbound),
  });
}
