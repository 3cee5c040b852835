// A pretend cluster for attacks: a bare TLS server that records every byte, request and connection, with scripted
// answers. It must not be an http.Server, which would repair exactly what the tests are about; and the probe's own
// requests are kept apart, so that "nothing upstream" means nothing.
import type { Socket } from 'node:net';
import { createServer } from 'node:tls';
import type { TestAuthority } from '../pretend/certificates.ts';
import { serve } from '../pretend/server.ts';

/** One request as it came over the wire. */
export interface MemberRequest {
  /** Number of the connection, counted from 0 in order of arrival. */
  readonly connection: number;
  readonly method: string;
  readonly target: string;
  /** Head up to the empty line, as latin1. */
  readonly head: string;
  /** Flat name, value list; values are latin1 strings of bytes. */
  readonly headers: readonly string[];
  readonly socket: Socket;
  /** The body, unframed; resolves when it is complete. */
  readonly body: Promise<Buffer>;
  /** Bytes of body so far; of an upgrade, everything that came behind the head. */
  received(): Buffer;
  /** Every value of a header, lower-case name given. */
  values(name: string): string[];
  /** Answers with Content-Length; header lines are written as given. */
  reply(status: number, headers?: readonly string[], body?: string | Buffer): void;
}

/** A running member. */
export interface Member {
  readonly port: number;
  readonly ca: string;
  /** Requests of callers in order of arrival. */
  readonly requests: MemberRequest[];
  /** Requests of the gateway's probe. */
  readonly probes: MemberRequest[];
  /** Every byte of every connection, as latin1. */
  readonly bytes: string[];
  readonly sockets: Socket[];
  /** Replaces the script. */
  answer: (request: MemberRequest) => void;
  /** Resolves with the n-th request of a caller, counted from 0. */
  request(index: number): Promise<MemberRequest>;
  close(): void;
}

/** Answers 200 with what the member was asked as whom, once the body is there. */
export function answerEcho(request: MemberRequest): void {
  void request.body.then((body) =>
    request.reply(
      200,
      ['Content-Type: application/json'],
      JSON.stringify({ user: request.values('impersonate-user'), target: request.target, bytes: body.length }),
    ),
  );
}

/** Starts a member whose certificate is for 127.0.0.1. */
export async function startMember(
  authority: TestAuthority,
  answer: (request: MemberRequest) => void = answerEcho,
): Promise<Member> {
  const leaf = await authority.issue(['ip:127.0.0.1', 'member.test']);
  const waiting: { readonly index: number; readonly resolve: (request: MemberRequest) => void }[] = [];
  const listening = createServer({ ...leaf, ALPNProtocols: ['http/1.1'], allowHalfOpen: true }, (socket) => {
    const connection = member.sockets.push(socket) - 1;
    member.bytes.push('');
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    const reader = makeRequestReader(connection, socket, (request) => {
      if (isProbe(request)) {
        member.probes.push(request);
        answerProbe(request);
        return;
      }
      member.requests.push(request);
      for (const { index, resolve } of waiting) if (index < member.requests.length) resolve(member.requests[index]!);
      member.answer(request);
    });
    socket.on('data', (chunk: Buffer) => {
      member.bytes[connection] += chunk.toString('latin1');
      reader(chunk);
    });
  });
  const server = await serve(listening);
  const member: Member = {
    port: server.port,
    ca: authority.ca,
    requests: [],
    probes: [],
    bytes: [],
    sockets: [],
    answer,
    request(index) {
      if (index < member.requests.length) return Promise.resolve(member.requests[index]!);
      return new Promise((resolve) => waiting.push({ index, resolve }));
    },
    close: () => void server.close(),
  };
  return member;
}

function isProbe(request: MemberRequest): boolean {
  return request.values('user-agent')[0] === 'portcullis-probe';
}

function answerProbe(request: MemberRequest): void {
  const [status, body] = request.target.endsWith('/version')
    ? [200, '{"gitVersion":"v1.36.1"}']
    : request.method === 'POST'
      ? [201, '{"status":{"allowed":true}}']
      : [200, 'ok'];
  void request.body.then(() => request.reply(status, [], body));
}

/** Splits what a connection sends into requests; behind the head of an upgrade everything belongs to that request. */
function makeRequestReader(
  connection: number,
  socket: Socket,
  onRequest: (request: MemberRequest) => void,
): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  let takeBody: ((bytes: Buffer) => Buffer | undefined) | undefined;

  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length > 0) {
      if (takeBody !== undefined) {
        const rest = takeBody(pending);
        if (rest === undefined) {
          pending = Buffer.alloc(0);
          return;
        }
        takeBody = undefined;
        pending = rest;
        continue;
      }
      const end = pending.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = pending.toString('latin1', 0, end);
      pending = pending.subarray(end + 4);
      const body = makeBody(head);
      takeBody = body.take;
      onRequest(makeRequest(connection, socket, head, body));
      if (pending.length === 0 && body.take(pending) !== undefined) takeBody = undefined;
    }
  };
}

interface Body {
  readonly done: Promise<Buffer>;
  received(): Buffer;
  /** Takes bytes; gives back what is beyond the body once it is complete. */
  take(bytes: Buffer): Buffer | undefined;
}

function makeBody(head: string): Body {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  const chunked = /\r\ntransfer-encoding: chunked/i.test(head);
  const upgrade = /\r\nupgrade: /i.test(head);
  const pieces: Buffer[] = [];
  let size = 0;
  let raw: Buffer = Buffer.alloc(0);
  const received = (): Buffer => Buffer.concat(pieces);
  const finish = (rest: Buffer): Buffer => {
    resolve(received());
    return rest;
  };
  const takeChunks = (bytes: Buffer): Buffer | undefined => {
    raw = Buffer.concat([raw, bytes]);
    for (;;) {
      const line = raw.indexOf('\r\n');
      if (line < 0) return undefined;
      const chunkLength = Number.parseInt(raw.toString('latin1', 0, line), 16);
      if (raw.length < line + 4 + chunkLength) return undefined;
      pieces.push(raw.subarray(line + 2, line + 2 + chunkLength));
      raw = raw.subarray(line + 4 + chunkLength);
      if (chunkLength === 0) return finish(raw);
    }
  };
  return {
    done: promise,
    received,
    take(bytes) {
      if (upgrade) {
        pieces.push(bytes);
        return undefined;
      }
      if (chunked) return takeChunks(bytes);
      const take = Math.min(bytes.length, length - size);
      size += take;
      pieces.push(bytes.subarray(0, take));
      return size === length ? finish(bytes.subarray(take)) : undefined;
    },
  };
}

function makeRequest(connection: number, socket: Socket, head: string, body: Body): MemberRequest {
  const [line = '', ...fields] = head.split('\r\n');
  const [method = '', target = ''] = line.split(' ');
  const headers = fields.flatMap((field) => {
    const colon = field.indexOf(': ');
    return [field.slice(0, colon), field.slice(colon + 2)];
  });
  return {
    connection,
    method,
    target,
    head,
    headers,
    socket,
    body: body.done,
    received: body.received,
    values: (name) => headers.filter((_, i) => i % 2 === 1 && headers[i - 1]!.toLowerCase() === name),
    reply(status, lines = [], content = '') {
      const bytes = Buffer.from(content);
      const text = [`HTTP/1.1 ${status} Answer`, ...lines, `Content-Length: ${bytes.length}`, '', ''].join('\r\n');
      socket.write(Buffer.concat([Buffer.from(text, 'latin1'), bytes]));
    },
  };
}
