// A client with which controllers send requests to one member, by the same connections, credentials and circuit breaker
// as requests of clients. The client has the interface of an ApiClient, so that reflectors and writers for the hub can
// be used on a member too.
import { bodyOf } from '../../kube/call-body.ts';
import type { ApiAnswer, ApiCall, ApiClient, ApiStream } from '../../kube/types.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterRecord, ClusterSpec } from '../../model/records.ts';
import { retryAfterMsOf } from '../../lib/backoff.ts';
import { callMember, readWhole, type MemberAnswer } from '../../routing/members/member-call.ts';
import type { OutgoingIdentity } from '../../routing/members/member-request.ts';
import { locate, type Connections, type Target } from '../../routing/members/target.ts';
import { refuseManyValues } from '../../lib/json/value-count.ts';

export interface MemberAccess {
  /** Name under which the gateway knows the cluster. */
  readonly cluster: string;
  /** Returns the cluster record as it is now; undefined when the cluster is not registered any more. */
  readonly record: () => ClusterRecord | undefined;
  readonly connections: Connections;
  /** Header `User-Agent` of the requests; default `portcullis-works`. */
  readonly userAgent?: string;
}

/** Sends requests to one member as one identity. */
export interface MemberClient extends Pick<ApiClient, 'open' | 'url'> {
  /**
   * Sends one request. @param auditId header `Audit-ID` of the request, by which the member's audit log can be compared
   * with the gateway's
   */
  request(call: ApiCall & { readonly auditId?: string }): Promise<ApiAnswer>;
}

/**
 * Maximum number of bytes in the answer to a request for one object. etcd takes requests of 1.5 MiB, and JSON is longer
 * than what Kubernetes stores. A longer answer fails, so that one member cannot fill the gateway's memory.
 */
const maxObjectBytes = 3 * 1024 * 1024;

/**
 * Makes a client. Its requests throw GatewayError when the member does not answer or the identity must not be sent.
 * @param identityOf called for each request; returns the identity with which the request is sent
 */
export function makeMemberClient(
  { cluster, record, connections, userAgent = 'portcullis-works' }: MemberAccess,
  identityOf: (spec: ClusterSpec) => OutgoingIdentity,
): MemberClient {
  const send = async (call: ApiCall & { readonly auditId?: string }, isWatch: boolean): Promise<MemberAnswer> => {
    const target = await locateNow();
    const body = bodyOf(call);
    return await callMember(target, {
      identity: identityOf(target.record.spec),
      method: call.method,
      path: call.path,
      headers: [
        ...['Accept', call.accept ?? 'application/json', 'User-Agent', userAgent],
        ...(body === undefined ? [] : ['Content-Type', call.contentType ?? 'application/json']),
      ],
      body,
      timeoutMs: call.timeoutMs,
      wholeTimeoutMs: isWatch ? undefined : call.timeoutMs,
      longRunning: isWatch,
      signal: call.signal,
      auditId: call.auditId,
    });
  };
  const locateNow = async (): Promise<Target> => {
    const now = record();
    if (now === undefined) throw new GatewayError('CLUSTER_NOT_FOUND', `cluster "${cluster}" is not registered`);
    return await locate(now.spec.name, () => record(), connections);
  };
  return {
    url: `cluster "${cluster}"`,
    async request(call) {
      const answer = await send(call, false);
      const body = await readWhole(answer, call.mostBytes ?? maxObjectBytes);
      refuseManyValues(body);
      return { status: answer.status, retryAfterMs: retryAfterOf(answer), body };
    },
    async open(call): Promise<ApiStream> {
      const answer = await send(call, true);
      return {
        status: answer.status,
        retryAfterMs: retryAfterOf(answer),
        chunks: answer.chunks,
        close: () => answer.cancel(),
      };
    },
  };
}

function retryAfterOf({ headers }: MemberAnswer): number | undefined {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'retry-after');
  return at < 0 ? undefined : retryAfterMsOf(headers[at + 1]);
}
