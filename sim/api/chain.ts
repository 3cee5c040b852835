// Handles one request from its headers to its answer: parse, authenticate, impersonate, record in the audit log,
// authorize, dispatch. The audit entry is written before the request may be refused, so that tests also see refused
// requests.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { asStatusError, sendFailure } from '../call/answer.ts';
import type { AuditEntry, AuditLog } from '../access/audit.ts';
import { authenticate } from '../access/authenticate.ts';
import { forbiddenBy, type Attributes } from '../access/authorize.ts';
import type { Cluster } from '../call/cluster.ts';
import { dispatch } from './dispatch.ts';
import { headerValue, plainHeaders } from '../wire/headers.ts';
import { impersonate } from '../access/impersonation.ts';
import { negotiate } from '../wire/negotiate.ts';
import { requestInfo, type RequestInfo } from '../model/request-info.ts';
import { StatusError, badRequest, internalError } from '../model/status-error.ts';
import type { StreamHooks } from '../streams/stream-hooks.ts';
import { serveUpgradeCall } from '../streams/streams-calls.ts';
import { isWebSocketWatch, webSocketReply } from '../streams/websocket-reply.ts';
import type { SimUser } from '../model/types.ts';

/**
 * The cluster that a request is for, the log that records the request, and the handlers for logs, exec and
 * port-forward.
 */
export interface ChainParts {
  readonly cluster: Cluster;
  readonly audit: AuditLog;
  readonly streams: StreamHooks;
}

/** A request after authentication and impersonation. */
interface Prepared {
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly rawHeaders: readonly string[];
  readonly entry: AuditEntry;
  /** The user the request runs as. Undefined when `failure` says why the request is refused. */
  readonly user: SimUser | undefined;
  readonly failure: unknown;
}

function prepare({ cluster, audit }: ChainParts, request: IncomingMessage, socket: Duplex): Prepared {
  const rawHeaders = plainHeaders(request.rawHeaders);
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
  let path = mark < 0 ? target : target.slice(0, mark);
  let failure: unknown;
  let caller: SimUser | undefined;
  let impersonated: SimUser | undefined;
  try {
    path = decodePath(path);
    caller = authenticate(rawHeaders, socket, cluster.lookupToken);
    impersonated = impersonate(rawHeaders, caller, cluster.authorize);
  } catch (error) {
    failure = error;
  }
  const info = requestInfo(request.method ?? 'GET', path, query);
  const entry: AuditEntry = {
    at: cluster.now(),
    auditId: headerValue(rawHeaders, 'audit-id') ?? randomUUID(),
    user: caller,
    impersonatedUser: impersonated,
    verb: info.verb,
    method: request.method ?? '',
    path: target,
    httpVersion: request.httpVersion,
    rawHeaders,
    code: failure instanceof StatusError ? failure.code : undefined,
    isDone: false,
  };
  audit.add(entry);
  return {
    info,
    query,
    rawHeaders,
    entry,
    user: failure === undefined ? (impersonated ?? caller) : undefined,
    failure,
  };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest('the path is not validly percent-encoded');
  }
}

/** Checks whether the user may make the request. @throws StatusError 403 when RBAC does not permit it */
function authorizeInfo(cluster: Cluster, info: RequestInfo, user: SimUser): void {
  const { path, ...rest } = info;
  const attributes: Attributes = info.isResourceRequest ? { ...rest, user } : { ...rest, user, path };
  const decision = cluster.authorize(attributes);
  if (!decision.isAllowed) throw forbiddenBy(attributes, decision.reason);
}

/** Handles one HTTP request from authentication to its answer. Never rejects. */
export async function handleRequest(parts: ChainParts, request: IncomingMessage, reply: ServerResponse): Promise<void> {
  const { cluster, audit, streams } = parts;
  const socket: Duplex =
    (request as { stream?: { session?: { socket?: Duplex } } }).stream?.session?.socket ?? request.socket;
  request.on('error', () => {});
  reply.on('error', () => {});
  const { info, query, rawHeaders, entry, user, failure } = prepare(parts, request, socket);
  reply.once('close', () => {
    if (reply.headersSent) entry.code ??= reply.statusCode;
    audit.finish(entry);
  });
  const warnings: string[] = [];
  try {
    if (user === undefined) throw failure ?? internalError('no user found for request');
    authorizeInfo(cluster, info, user);
    const accept = negotiate(info.isResourceRequest ? headerValue(rawHeaders, 'accept') : undefined);
    const { auditId } = entry;
    await dispatch({ cluster, request, reply, info, query, rawHeaders, user, accept, auditId, warnings }, streams);
    if (reply.headersSent) entry.code ??= reply.statusCode;
  } catch (error) {
    if (error instanceof StatusError) entry.code ??= error.code;
    sendFailure(reply, error, entry.auditId, warnings);
  }
}

/** Handles one HTTP/1.1 upgrade request from authentication to its stream. */
export function handleUpgrade(parts: ChainParts, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { cluster, audit, streams } = parts;
  socket.on('error', () => {});
  const { info, query, rawHeaders, entry, user, failure } = prepare(parts, request, socket);
  const untrack = cluster.trackStream(() => socket.destroy());
  socket.once('close', () => {
    untrack();
    audit.finish(entry);
  });
  const refuse = (error: unknown): void => {
    const refusal = asStatusError(error);
    entry.code ??= refusal.code;
    const body = JSON.stringify(refusal.toStatus());
    socket.end(
      `HTTP/1.1 ${refusal.code} ${refusal.reason}\r\naudit-id: ${entry.auditId}\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    );
  };
  try {
    if (user === undefined) throw failure ?? internalError('no user found for request');
    authorizeInfo(cluster, info, user);
    if (isWebSocketWatch(request)) {
      const accept = negotiate(headerValue(rawHeaders, 'accept'));
      const reply = webSocketReply(request, socket, head);
      const call = { cluster, request, reply, info, query, rawHeaders, user, accept, auditId: entry.auditId };
      dispatch({ ...call, warnings: [] }, streams).catch(refuse);
    } else serveUpgradeCall({ cluster, info, user, query, req: request, socket, head }, streams);
    entry.code ??= 101;
  } catch (error) {
    refuse(error);
  }
}
