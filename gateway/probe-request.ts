// One small request of the probe over the same transport that requests use. Easy to get wrong: it must bypass the breaker (it is what
// closes it again) and must have a deadline of its own.
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../cache/errors.ts';
import type { IdentityMode } from '../cache/records.ts';
import { makeUser } from '../cache/user.ts';
import { selfUpstreamHeaders, upstreamHeaders } from '../routing/headers.ts';
import type { Target } from '../routing/target.ts';

/** The name probes impersonate; callers may not have it (auth/reserved.ts). */
const probeUser = makeUser({ name: 'portcullis:probe' });
const maxAnswerBytes = 1024 * 1024;

/** A small answer, whole. */
export interface ProbeAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * Sends GET, or POST when there is a body, and collects the answer.
 * @throws GatewayError (rejects) as the transport does, MEMBER_TIMEOUT after `timeoutMs`
 */
export function ask(
  target: Target,
  identity: IdentityMode,
  path: string,
  timeoutMs: number,
  body?: object,
): Promise<ProbeAnswer> {
  const { record, credential, connection } = target;
  const endpoint = record.spec.endpoint!;
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
  const inbound = ['Accept', 'application/json', 'User-Agent', 'portcullis-probe'];
  if (body !== undefined) inbound.push('Content-Type', 'application/json');
  const parts = {
    inbound,
    host: `${host}:${endpoint.port}`,
    credential,
    peerAddress: '',
    auditId: randomUUID(),
    upgrade: false,
  };
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const { promise, resolve, reject } = Promise.withResolvers<ProbeAnswer>();
  let status = 0;
  let size = 0;
  const chunks: Buffer[] = [];
  const deadline = setTimeout(() => {
    call.abort();
    reject(
      new GatewayError('MEMBER_TIMEOUT', `cluster "${record.spec.name}" sent no answer within ${timeoutMs / 1000} s`, {
        cluster: record.spec.name,
      }),
    );
  }, timeoutMs);
  const call = connection.transport.send(
    {
      method: bytes === undefined ? 'GET' : 'POST',
      target: endpoint.basePath + path,
      headers: identity === 'self' ? selfUpstreamHeaders(parts) : upstreamHeaders(parts, probeUser),
      body: bytes?.length ?? 'none',
      longRunning: false,
    },
    {
      onHeaders: (received) => {
        status = received;
      },
      onData: (chunk) => {
        size += chunk.length;
        if (size <= maxAnswerBytes) chunks.push(chunk);
      },
      onEnd: () => {
        clearTimeout(deadline);
        resolve({ status, body: Buffer.concat(chunks) });
      },
      onError: (error) => {
        clearTimeout(deadline);
        reject(error);
      },
    },
  );
  if (bytes !== undefined) {
    call.write(bytes);
    call.end();
  }
  return promise;
}
