// Sends a write to each of several clusters, which a selector chose. There is no transaction: one cluster may refuse
// what other clusters carry out. Therefore the answer says what happened in each cluster, and its status is a success
// only when all clusters succeeded.
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { headerValues } from '../../http/raw-headers.ts';
import { readBody } from '../../request/answer/request-body.ts';
import { jsonResponse } from '../../request/answer/status.ts';
import { memberHeaders } from './members/accept.ts';
import type { ListParts } from './lists/list-answer.ts';
import { membersAtOnce } from './members/members.ts';
import { inTurns } from '../../lib/concurrency/in-turns.ts';
import { missingByAnswer, missingByError, warningHeaders } from './members/missing.ts';
import type { Missing } from './members/missing.ts';
import { memberPath, refuseOneVersion, withoutKeys } from './members/query.ts';

/** kube-apiserver's limit for a request body (MaxRequestBodyBytes in pkg/server/config.go of k8s.io/apiserver). */
const maxBodyBytes = 3 * 1024 * 1024;
/**
 * How many milliseconds one cluster may take for a write; then the write counts as failed there. This is longer than
 * for reads: after giving up on a slow cluster, nobody knows whether the cluster carried out the write.
 */
const writeTimeoutMs = 30_000;

/** The result of the write in one cluster. */
type Outcome = Missing & { readonly isDone: boolean };

/**
 * Sends the write to each cluster and answers with one Status.
 * @throws GatewayError (rejects) only before anything was sent to a cluster
 */
export async function answerWrite(parts: ListParts, clusters: readonly ClusterSpec[]): Promise<void> {
  const { state, members, writer, query, path } = parts;
  const { inbound } = state;
  if (clusters.length === 0) {
    throw new GatewayError('NOT_FOUND', 'clusterSelector= selects no cluster that you may reach; nothing was sent');
  }
  if (headerValues(state.headers, 'content-encoding').length > 0) {
    throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'a request to many clusters must have an uncompressed body');
  }
  const body = inbound.body === 'none' ? undefined : await readBody(inbound, maxBodyBytes);
  state.progress.bytesIn += body?.length ?? 0;
  // The audit log reads the object's name from the body.
  if (body !== undefined) state.observation.audit?.body?.feed(body);
  const question = {
    method: inbound.method,
    // All parameters except clusterSelector and partial are sent to the clusters. For a deletecollection, for example,
    // they limit what is deleted.
    path: memberPath(path, withoutKeys(state.target.query, selectionKeys)),
    headers: memberHeaders(state.headers, 'application/json', body !== undefined),
    body,
    longRunning: false,
    timeoutMs: writeTimeoutMs,
    // The signal is never aborted: when the client goes away, writes that have begun still finish.
    signal: new AbortController().signal,
  };
  refuseOneVersion(query);
  const outcomes = await inTurns(clusters, membersAtOnce, async (cluster): Promise<Outcome> => {
    const { name } = cluster;
    try {
      const answer = await members.ask(cluster, question);
      if (answer.status >= 300) return { ...(await missingByAnswer(name, answer)), isDone: false };
      answer.cancel();
      const message = `done (${answer.status})`;
      return { cluster: name, code: answer.status, reason: 'Success', message, warnings: [], isDone: true };
    } catch (error) {
      return { ...missingByError(name, error), isDone: false };
    }
  });
  const { status, document } = statusOfWrite(outcomes);
  const failed = outcomes.filter(({ isDone }) => !isDone);
  writer.head(status, warningHeaders(failed));
  await writer.write(jsonResponse(document, state.auditId).body);
  writer.end();
}

const selectionKeys: ReadonlySet<string> = new Set(['clusterSelector', 'partial']);

/**
 * The `metav1.Status` of a write to several clusters. Each cluster is one entry in `details.causes`: `field` is the
 * cluster's name, `reason` is `Success` or the reason of the cluster's failure. The code is 200 when all clusters
 * succeeded, otherwise the highest code among the failures.
 */
function statusOfWrite(outcomes: readonly Outcome[]): { readonly status: number; readonly document: object } {
  const failed = outcomes.filter(({ isDone }) => !isDone);
  const worst = failed.toSorted((a, b) => b.code - a.code)[0];
  const causes = outcomes.map(({ cluster, reason, message }) => ({ reason, message, field: cluster }));
  const document = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: worst === undefined ? 'Success' : 'Failure',
    message:
      worst === undefined
        ? `done in ${outcomes.length} clusters`
        : `failed in ${failed.length} of ${outcomes.length} clusters; details.causes says what became of it in each`,
    ...(worst === undefined ? {} : { reason: worst.reason }),
    details: { group: 'gateway.portcullis.io', kind: 'clusters', causes },
    code: worst?.code ?? 200,
  };
  return { status: worst?.code ?? 200, document };
}
