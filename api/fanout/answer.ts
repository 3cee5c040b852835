// Answers a request for many clusters: passes it to the code for its kind (list, get, watch, write, discovery) and
// refuses all other requests. A write needs a cluster selector, so that nobody writes to all clusters by accident.
// Logs, exec and other streams of one object are refused.
import { GatewayError } from '../../model/errors.ts';
import type { Authorized } from '../../request/exchange.ts';
import type { FanoutDependencies } from './members/dependencies.ts';
import type { Surface } from '../../request/routes.ts';
import { requestInfo } from '../../request/request-info.ts';
import { jsonResponse } from '../../request/answer/status.ts';
import { makeAnswerWriter } from './members/answer-writer.ts';
import type { AnswerWriter, Ending } from './members/answer-writer.ts';
import { answerDiscovery } from './discovery.ts';
import { answerGet } from './get-answer.ts';
import { IncompleteAnswer, answerWholeList } from './lists/list-answer.ts';
import type { ListParts } from './lists/list-answer.ts';
import { answerPage } from './lists/list-pages.ts';
import { makeFanoutMembers } from './members/members.ts';
import type { IdentityFor } from './members/members.ts';
import { statusOfMany, warningHeaders } from './members/missing.ts';
import { readFanoutQuery } from './members/query.ts';
import { answerReview, isReview } from './review-answer.ts';
import { answerWatch } from './watches/watch-answer.ts';
import { answerWrite } from './write-answer.ts';

const oneCluster = 'ask one cluster, at /clusters/<name>/proxy';
const oneObjectStreams: ReadonlySet<string> = new Set(['log', 'exec', 'attach', 'portforward', 'proxy']);
const writes: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/**
 * Answers a request for many clusters; resolves when the answer has ended.
 * @param notice a text for a further `Warning` header of the answer
 * @throws GatewayError (rejects) before the answer began, or to cut an answer that has begun
 */
export async function answerFanout(
  state: Authorized,
  surface: Extract<Surface, { kind: 'member' }>,
  dependencies: FanoutDependencies,
  identityFor: IdentityFor,
  notice?: string,
): Promise<void> {
  const { info } = state;
  refuseStreams(state);
  const query = readFanoutQuery(state.target.query);
  if (info.isResource && writes.has(info.verb) && !isReview(info) && query.selects === undefined) {
    throw new GatewayError(
      'BAD_REQUEST',
      `a write to many clusters has to name them: add clusterSelector=<label selector>, or ${oneCluster}`,
    );
  }
  refuseOtherReading(state, surface.segments, query.rest);
  const ending: { onEnd?: Ending['onEnd'] } & Pick<Ending, 'kind'> = {
    kind: info.verb === 'watch' ? 'watch' : 'short',
  };
  const members = makeFanoutMembers(state, dependencies, identityFor);
  const writer = makeAnswerWriter(state, dependencies, ending, notice);
  const parts: ListParts = { state, members, writer, query, path: surface.path };
  try {
    if (info.verb === 'watch') return await answerWatch(parts, dependencies, ending);
    const clusters = await members.permitted(query.selects);
    writer.signal.throwIfAborted();
    if (!info.isResource) return await answerDiscovery(parts, surface.segments, clusters);
    if (isReview(info)) return await answerReview(parts, clusters);
    if (writes.has(info.verb)) return await answerWrite(parts, clusters);
    if (info.verb === 'get') return await answerGet(parts, clusters);
    if (query.limit === undefined && query.continueToken === '') return await answerWholeList(parts, clusters);
    return await answerPage(parts, clusters, query.limit ?? Number.MAX_SAFE_INTEGER);
  } catch (error) {
    // No answer can be sent: the client has closed the connection, or has already received an error.
    if (state.inbound.closed) return;
    if (!(error instanceof IncompleteAnswer) || state.inbound.answered) throw error;
    sendIncomplete(state, writer, error);
  } finally {
    members.close();
    writer.close();
  }
}

/**
 * Refuses connection upgrades, streams of one object and methods that cannot be sent to many clusters.
 * @throws GatewayError BAD_UPGRADE, BAD_REQUEST or METHOD_NOT_ALLOWED, before any cluster is asked
 */
function refuseStreams({ info, upgrade, inbound }: Authorized): void {
  if (upgrade !== undefined) {
    throw new GatewayError('BAD_UPGRADE', `this request needs a connection to a single cluster: ${oneCluster}`);
  }
  if (info.isResource) {
    if (oneObjectStreams.has(info.subresource) || info.verb === 'proxy') {
      throw new GatewayError('BAD_REQUEST', `${info.subresource || 'proxy'} is about a single object: ${oneCluster}`);
    }
    if (['get', 'list', 'watch'].includes(info.verb) || writes.has(info.verb)) return;
  } else if (inbound.method === 'GET' || inbound.method === 'HEAD') return;
  throw new GatewayError('METHOD_NOT_ALLOWED', `${inbound.method} is not served for every cluster: ${oneCluster}`);
}

/**
 * Security: clusters get only `rest`, the query without the gateway's own parameters. This function refuses the request
 * unless a cluster reads from `rest` the same verb, name and namespace that were authorized.
 */
function refuseOtherReading({ info, inbound, target }: Authorized, segments: readonly string[], rest: string): void {
  const sent = requestInfo(inbound.method, segments, rest, false);
  if (sent.verb === info.verb && sent.name === info.name && sent.namespace === info.namespace) return;
  throw new GatewayError(
    'BAD_REQUEST',
    `the query is refused, because clusters would read another verb, name or namespace from it: ${target.query.slice(0, 100)}`,
  );
}

function sendIncomplete(state: Authorized, writer: AnswerWriter, { error, missing }: IncompleteAnswer): void {
  state.observation.error = error;
  const { body } = jsonResponse(statusOfMany(error, missing), state.auditId);
  writer.head(error.status, warningHeaders(missing));
  void writer.write(body).catch(() => {});
  writer.end();
}
