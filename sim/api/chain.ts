// Handles one request from its headers to its answer: parse, authenticate, impersonate, record in the audit log,
// faults, authorize, dispatch. The audit entry is written before the request may be refused, so that tests also see
// refused requests.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { sendFailure } from './answer.ts';
import type { AuditEntry, AuditSink } from '../access/audit.ts';
import { authenticate } from '../access/authenticate.ts';
import { forbiddenBy, type Attributes } from '../access/authorize.ts';
import type { Call, Cluster } from '../cluster.ts';
import { dispatch } from './dispatch.ts';
import type { Faults } from '../faults/faults.ts';
import { headerValue, plainHeaders } from '../wire/headers.ts';
import { impersonate } from '../access/impersonation.ts';
import { negotiate } from '../wire/negotiate.ts';
import { requestInfo, type RequestInfo } from './request-info.ts';
import { StatusError, badRequest, internalError } from './status-error.ts';
import type { StreamHooks } from '../streams/stream-hooks.ts';
import { serveUpgradeCall } from '../streams/streams-calls.ts';
import type { SimUser } from '../types.ts';

/** What handling a request needs besides the cluster. */
export interface ChainParts {
  readonly cluster: Cluster;
  readonly audit: AuditSink;
  readonly faults: Faults;
  readonly streams: StreamHooks;
}

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

/** Handles one HTTP request from authentication to its answer. */
export function handleRequest(parts: ChainParts, request: IncomingMessage, reply: ServerResponse): void {
  const { cluster, audit, faults, streams } = parts;
  const socket: Duplex =
    (request as { stream?: { session?: { socket?: Duplex } } }).stream?.session?.socket ?? request.socket;
  request.on('error', () => {});
  reply.on('error', () => {});
  const prepared = prepare(parts, request, socket);
  const { info, entry } = prepared;
  reply.once('close', () => {
    if (reply.headersSent) entry.code ??= reply.statusCode;
    audit.finish(entry);
  });
  const fail = (error: unknown, warnings: string[] = []): void => {
    if (error instanceof StatusError) entry.code ??= error.code;
    sendFailure(reply, error, entry.auditId, warnings);
  };
  const proceed = async (): Promise<void> => {
    const warnings: string[] = [];
    try {
      if (prepared.user === undefined) throw prepared.failure ?? internalError('no user found for request');
      authorizeInfo(cluster, info, prepared.user);
      const call: Call = {
        cluster,
        request,
        reply,
        info,
        query: prepared.query,
        rawHeaders: prepared.rawHeaders,
        user: prepared.user,
        accept: negotiate(info.isResourceRequest ? headerValue(prepared.rawHeaders, 'accept') : undefined),
        auditId: entry.auditId,
        warnings,
      };
      await dispatch(call, streams);
      if (reply.headersSent) entry.code ??= reply.statusCode;
    } catch (error) {
      fail(error, warnings);
    }
  };
  const asked = {
    method: request.method ?? '',
    path: request.url ?? '',
    verb: info.verb,
    ...(prepared.user === undefined ? {} : { user: prepared.user.name }),
  };
  if (faults.intercept(asked, reply, socket, () => void proceed()) === 'continue') void proceed();
}

/** Handles one HTTP/1.1 upgrade request from authentication to its stream. */
export function handleUpgrade(parts: ChainParts, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { cluster, audit, faults, streams } = parts;
  socket.on('error', () => {});
  const prepared = prepare(parts, request, socket);
  const { info, query, entry } = prepared;
  const untrack = cluster.trackStream(() => socket.destroy());
  socket.once('close', () => {
    untrack();
    audit.finish(entry);
  });
  const proceed = (): void => {
    try {
      if (prepared.user === undefined) throw prepared.failure ?? internalError('no user found for request');
      authorizeInfo(cluster, info, prepared.user);
      serveUpgradeCall({ cluster, info, user: prepared.user, query, req: request, socket, head }, streams);
      entry.code ??= 101;
    } catch (error) {
      const failure =
        error instanceof StatusError ? error : internalError(error instanceof Error ? error.message : 'unknown');
      entry.code ??= failure.code;
      const body = JSON.stringify(failure.toStatus());
      socket.end(
        `HTTP/1.1 ${failure.code} ${failure.reason}\r\naudit-id: ${entry.auditId}\r\ncontent-type: application/json\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      );
    }
  };
  const asked = {
    method: request.method ?? '',
    path: request.url ?? '',
    verb: info.verb,
    ...(prepared.user === undefined ? {} : { user: prepared.user.name }),
  };
  if (faults.intercept(asked, undefined, socket, proceed) === 'continue') proceed();
}
