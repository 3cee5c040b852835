// Members with faults that no kube-apiserver can be made to show: one that stands in front of a real one and cuts or
// withholds chosen answers, and an address that never takes a connection. Everything else must pass unchanged, or
// kubectl fails for another reason.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

import { createAuthority } from '../pretend/certificates.ts';
import type { Member } from '../controlplane/fixture.ts';
import { passOn } from '../pretend/reverse-proxy.ts';
import { newServer } from '../pretend/server.ts';

/**
 * What becomes of one answer: passed on, cut in its middle in either framing, stuck there, never sent (its head
 * neither), or replaced by a line of text and no end.
 */
export type AnswerFault = 'none' | 'cut-length' | 'cut-chunked' | 'stuck' | 'withheld' | 'endless';

/** A running stand-in. */
export interface FaultyMember {
  readonly url: string;
  readonly caPem: string;
  /** Answers so far that got stuck. */
  stuck(): number;
  stop(): void;
}

/**
 * Starts a TLS server that passes requests on to the member, all headers as they are, and treats each answer as `fault`
 * says; a promise holds the request back until it resolves.
 */
export async function startFaultyMember(
  member: Member,
  fault: (method: string, target: string) => AnswerFault | Promise<AnswerFault>,
): Promise<FaultyMember> {
  const authority = await createAuthority('faulty-ca');
  const { certPem, keyPem } = await authority.issue({
    commonName: 'faulty',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  let stuck = 0;
  const server = await newServer(
    async (request, response) => {
      const chosen = await fault(request.method ?? '', request.url ?? '');
      if (chosen === 'endless') response.writeHead(200, { 'content-type': 'text/plain' }).write('a line\n');
      else if (chosen === 'none') passOn(member, request, response);
      else if (chosen !== 'withheld')
        passOn(member, request, response, async (answer) =>
          cut(response, answer, await buffer(answer), chosen, () => (stuck += 1)),
        );
    },
    { cert: certPem, key: keyPem },
  );
  return {
    url: server.url,
    caPem: authority.certPem,
    stuck: () => stuck,
    stop: () => void server.close(),
  };
}

/** Sends half of the body and closes the connection, or leaves it open. */
function cut(
  response: ServerResponse,
  answer: IncomingMessage,
  body: Buffer,
  fault: AnswerFault,
  onStuck: () => void,
): void {
  const headers: Record<string, string> = { 'content-type': answer.headers['content-type'] ?? 'application/json' };
  if (fault === 'cut-length') headers['content-length'] = String(body.length);
  response.writeHead(answer.statusCode!, headers);
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => {
    if (fault === 'stuck') onStuck();
    else response.destroy();
  });
}

/**
 * An address whose connections never stand: a listener that accepts nothing and whose queue is full, so the kernel
 * drops every SYN.
 */
export async function startDeafListener(): Promise<{ readonly port: number; stop(): void }> {
  const program = `
    const server = require('node:net').createServer();
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('node:fs').writeSync(1, server.address().port + '\\n');
      setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0), 1);
    });`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  const fillers: Socket[] = [];
  const stop = (): void => {
    for (const socket of fillers) socket.destroy();
    child.kill('SIGKILL');
  };
  for (let i = 0; i < 20; i++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    fillers.push(socket);
    const stands = await Promise.race([
      once(socket, 'connect').then(() => true),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 700)),
    ]);
    if (!stands) return { port, stop };
  }
  stop();
  throw new Error(`port ${port} still takes connections`);
}
