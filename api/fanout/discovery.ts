// Answers discovery for all clusters with one document, so that kubectl finds each type that at least one cluster
// serves. Discovery has a legacy and an aggregated form. Every cluster is asked for the form that the client prefers,
// since documents of different forms cannot be joined.
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { readWhole } from '../../routing/members/member-call.ts';
import { acceptedRanges } from '../../request/answer/accept.ts';
import { aggregatedMediaType } from '../../request/discovery.ts';
import { jsonResponse, notServed } from '../../request/answer/status.ts';
import { memberHeaders } from './members/accept.ts';
import { mergedDiscovery } from './discovery-merge.ts';
import type { DiscoveryDocument } from './discovery-merge.ts';
import { IncompleteAnswer } from './lists/list-answer.ts';
import type { ListParts } from './lists/list-answer.ts';
import { inTurns } from '../../lib/concurrency/in-turns.ts';
import { errorOfAll, missingByAnswer, missingByError } from './members/missing.ts';
import type { Missing } from './members/missing.ts';
import { memberPath, withoutKeys } from './members/query.ts';
import { mostDiscoveryValues, parseLimited } from '../../lib/json/value-count.ts';

/**
 * How long one cluster may take to answer; a slower cluster is left out. The time is short, because kubectl waits for
 * discovery before it does anything else.
 */
const discoveryTimeoutMs = 5_000;
/** How many clusters are asked at the same time. The number is low, because every document is parsed in memory. */
const documentsAtOnce = 8;
/**
 * Maximum bytes of one document: enough for the OpenAPI document of a cluster with many CustomResourceDefinitions. A
 * cluster with a longer document is left out.
 */
const maxDocumentBytes = 64 * 1024 * 1024;

type Question = DiscoveryDocument | 'first';

/**
 * Which document a path asks for. `first` means that the answer of the first cluster is used unchanged; undefined means
 * that the path cannot be answered for many clusters.
 */
function questionOf(segments: readonly string[]): Question | undefined {
  const [first, second, third] = segments;
  if (first === 'version' && segments.length === 1) return 'first';
  if (first === 'api') return segments.length === 1 ? 'api' : segments.length === 2 ? 'resources' : undefined;
  if (first === 'apis') {
    if (segments.length > 3) return undefined;
    return third !== undefined ? 'resources' : second !== undefined ? 'group' : 'apis';
  }
  if (first !== 'openapi') return undefined;
  return second === 'v3' && segments.length === 2 ? 'openapi-v3' : 'first';
}

/**
 * Answers discovery, `/version` and OpenAPI for these clusters.
 * @throws GatewayError (rejects) when the path is not served for many clusters, or no cluster answered
 */
export async function answerDiscovery(
  parts: ListParts,
  segments: readonly string[],
  clusters: readonly ClusterSpec[],
): Promise<void> {
  const question = questionOf(segments);
  if (question === undefined) {
    throw new GatewayError(
      'BAD_REQUEST',
      'this path is not served for every cluster: ask one, at /clusters/<name>/proxy',
    );
  }
  const form = formOf(parts, question);
  const { writer, state } = parts;
  const documents: unknown[] = [];
  const missing: Missing[] = [];
  if (question === 'first') {
    const body = await firstDocument(parts, clusters, missing);
    if (body === undefined) throw incomplete(missing);
    writer.head(200);
    await writer.write(body);
    return writer.end();
  }
  const bodies = await inTurns(clusters, documentsAtOnce, async (cluster) => {
    const body = await askDocument(parts, cluster, form.accept, missing);
    return body === undefined ? undefined : parsed(body, cluster.name, missing);
  });
  writer.signal.throwIfAborted();
  for (const document of bodies) if (document !== undefined) documents.push(document);
  if (documents.length === 0) throw incomplete(missing);
  const merged = mergedDiscovery(form.isAggregated ? 'aggregated' : question, documents);
  writer.head(200, form.isAggregated ? ['Vary', 'Accept'] : [], form.contentType);
  await writer.write(jsonResponse(merged, state.auditId).body);
  writer.end();
}

interface Form {
  readonly accept: string;
  readonly contentType: string;
  readonly isAggregated: boolean;
}

/**
 * The form (legacy or aggregated) in which clusters are asked for discovery: aggregated only when the client prefers
 * it. Kube-apiservers before 1.26 do not have the aggregated form; their clusters are then left out.
 */
function formOf({ state }: ListParts, question: Question): Form {
  const json = { accept: 'application/json', contentType: 'application/json', isAggregated: false };
  if (question !== 'api' && question !== 'apis') return json;
  for (const { mediaType, parameters } of acceptedRanges(state.headers)) {
    if (mediaType !== 'application/json') continue;
    if (parameters.get('as') === undefined) return json;
    const version = parameters.get('v') ?? '';
    if (parameters.get('as') !== 'APIGroupDiscoveryList' || (version !== 'v2' && version !== 'v2beta1')) continue;
    const contentType = aggregatedMediaType(version);
    return { accept: contentType, contentType, isAggregated: true };
  }
  return json;
}

async function firstDocument(
  parts: ListParts,
  clusters: readonly ClusterSpec[],
  missing: Missing[],
): Promise<Buffer | undefined> {
  for (const cluster of clusters) {
    const body = await askDocument(parts, cluster, 'application/json', missing);
    parts.writer.signal.throwIfAborted();
    if (body !== undefined) return body;
  }
  return undefined;
}

async function askDocument(
  { members, state, path, query, writer }: ListParts,
  cluster: ClusterSpec,
  accept: string,
  missing: Missing[],
): Promise<Buffer | undefined> {
  try {
    const answer = await members.ask(cluster, {
      method: 'GET',
      // The hash in an OpenAPI URL is that of one cluster's document and means nothing to other clusters, so it is not
      // sent.
      path: memberPath(path, withoutKeys(query.rest, hashKey)),
      headers: memberHeaders(state.headers, accept),
      longRunning: false,
      timeoutMs: discoveryTimeoutMs,
      signal: writer.signal,
    });
    if (answer.status === 200) return await readWhole(answer, maxDocumentBytes);
    if (answer.status === 404) answer.cancel();
    else missing.push(await missingByAnswer(cluster.name, answer));
  } catch (error) {
    missing.push(missingByError(cluster.name, error));
  }
  return undefined;
}

const hashKey: ReadonlySet<string> = new Set(['hash']);

function parsed(body: Buffer, cluster: string, missing: Missing[]): unknown {
  try {
    return parseLimited(body, mostDiscoveryValues);
  } catch (cause) {
    const why = `its answer to discovery is ${(cause as Error).message}`;
    const error = new GatewayError('MEMBER_BAD_RESPONSE', why, { cluster });
    missing.push(missingByError(cluster, error));
    return undefined;
  }
}

function incomplete(missing: readonly Missing[]): Error {
  return missing.length === 0 ? notServed() : new IncompleteAnswer(missing, errorOfAll(missing));
}
