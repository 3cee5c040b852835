// Answers a get of one object by name over many clusters: with the object, when exactly one cluster has it. The answer
// is 404 only when every cluster has said that it does not have the object, because a cluster that did not answer may
// have it.
import { listed } from '../../lib/text/listed.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { readWhole } from '../../routing/members/member-call.ts';
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import { skipSpace } from '../../lib/json/json-scan.ts';
import { memberAccept, memberHeaders } from './members/accept.ts';
import { edited, elementsOf, markedObject, membersOf, stringAt } from './lists/item-bytes.ts';
import type { Edit } from './lists/item-bytes.ts';
import { IncompleteAnswer } from './lists/list-answer.ts';
import type { ListParts } from './lists/list-answer.ts';
import { maxItemBytes } from '../../lib/json/list-cutter.ts';
import { membersAtOnce } from './members/members.ts';
import { inTurns } from '../../lib/concurrency/in-turns.ts';
import { errorOfAll, missingByAnswer, missingByError, warningHeaders } from './members/missing.ts';
import type { Missing } from './members/missing.ts';
import { memberPath, refuseOneVersion } from './members/query.ts';
import { mergedDefinitions, mergedRow, readColumns } from './lists/table-columns.ts';
import { refuseManyValues } from '../../lib/json/value-count.ts';

/**
 * Answers a get of one object.
 * @throws GatewayError (rejects) NOT_FOUND when no cluster has the object, CONFLICT with the clusters' names when
 * several have it, or the error of clusters that did not answer
 */
export async function answerGet(parts: ListParts, clusters: readonly ClusterSpec[]): Promise<void> {
  const { state, members, writer, query, path } = parts;
  const headers = memberHeaders(state.headers, memberAccept(state.headers));
  refuseOneVersion(query);
  const version = query.resourceVersion === '' ? undefined : query.resourceVersion;
  const asked = memberPath(path, query.rest, { resourceVersion: version });
  const question = { method: 'GET', path: asked, headers, longRunning: false, signal: writer.signal };
  const found: { readonly cluster: string; readonly answer: MemberAnswer }[] = [];
  const missing: Missing[] = [];
  let notFound: Missing | undefined;
  await inTurns(clusters, membersAtOnce, async (cluster) => {
    try {
      const answer = await members.ask(cluster, question);
      if (answer.status === 200) {
        found.push({ cluster: cluster.name, answer });
        return;
      }
      const said = await missingByAnswer(cluster.name, answer);
      if (said.code === 404) notFound ??= said;
      else missing.push(said);
    } catch (error) {
      missing.push(missingByError(cluster.name, error));
    }
  });
  writer.signal.throwIfAborted();
  missing.sort((a, b) => (a.cluster < b.cluster ? -1 : 1));
  const [first] = found;
  if (found.length > 1) throw ambiguous(found.map(({ cluster }) => cluster).toSorted(), state.info.resource);
  if (!query.partial && missing.length > 0) throw new IncompleteAnswer(missing);
  if (first === undefined) {
    if (notFound === undefined || missing.some(({ code }) => code >= 429)) {
      throw missing.length === 0 ? noCluster() : new IncompleteAnswer(missing, errorOfAll(missing));
    }
    const { resource, apiGroup, name } = state.info;
    throw new GatewayError('NOT_FOUND', notFound.message, { kind: resource, group: apiGroup, name });
  }
  const body = await readWhole(first.answer, maxItemBytes);
  const marked = markedDocument(body, first.cluster);
  writer.head(200, warningHeaders(missing));
  await writer.write(marked);
  writer.end();
}

function ambiguous(clusters: readonly string[], resource: string): GatewayError {
  const named = listed(clusters, 20);
  return new GatewayError(
    'CONFLICT',
    `${clusters.length} clusters have ${resource === '' ? 'it' : `such an object of ${resource}`}: ${named}; ask one of them at /clusters/<name>/proxy, or choose with clusterSelector=`,
  );
}

/** The error when no cluster is to be asked: the caller may use no cluster, or clusterSelector selects none. */
function noCluster(): GatewayError {
  return new GatewayError(
    'NOT_FOUND',
    'there is no cluster to ask: clusterSelector selects none, or you may reach none',
  );
}

/**
 * Adds the cluster's name as an annotation to the object or, when the cluster answered with a Table, to its rows.
 * @throws GatewayError MEMBER_BAD_RESPONSE when the body is not a JSON object
 */
export function markedDocument(body: Buffer, cluster: string): Buffer {
  try {
    refuseManyValues(body);
    const at = skipSpace(body, 0);
    const members = membersOf(body, at);
    const rows = members.get('rows');
    if (stringAt(body, members.get('kind')) !== 'Table' || rows === undefined) return markedObject(body, { cluster });
    const edits: Edit[] = elementsOf(body, rows.start).map((span) => {
      const row = mergedRow(body.subarray(span.start, span.end), undefined, { cluster });
      return { ...span, text: row.toString('utf8') };
    });
    const columns = members.get('columnDefinitions');
    if (columns !== undefined && body[columns.start] === 0x5b) {
      const own = readColumns(body.subarray(columns.start, columns.end));
      edits.push({ ...columns, text: mergedDefinitions(own) });
    }
    return edited(body, edits);
  } catch (error) {
    const why = 'it sent an object that cannot be read';
    throw new GatewayError('MEMBER_BAD_RESPONSE', why, { cluster, cause: error });
  }
}
