// The HTTP/1.1 half of the raw stream clients: sends one upgrade request byte for byte and reads the answer's head
// itself. The first bytes after a 101 belong to the new protocol and often arrive in the same read.
import net from 'node:net';
import tls from 'node:tls';

/** Where to connect and what to send with every request. */
export interface ConnectOptions {
  readonly host: string;
  readonly port: number;
  /** PEM of the CA to trust; undefined means no TLS at all. */
  readonly ca?: string | undefined;
  /** Name in SNI and to verify, default the host. */
  readonly serverName?: string;
  /** Client certificate, PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** Sent as they are, repeats included: `Authorization`, `Impersonate-Group`, … */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Limit for connecting and for the answer's head, default 10 s. */
  readonly timeoutMs?: number;
}

/** One upgrade request. */
export interface UpgradeCall {
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly target: string;
  /** Value of `Upgrade`. */
  readonly token: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** The head of an answer; names as received. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** An answer with 101: the connection is ours. */
export interface Upgraded extends AnswerHead {
  readonly socket: net.Socket;
  /** What came after the head. */
  readonly head: Buffer;
}

/** Any other answer, read to its end. */
export class UpgradeRefused extends Error {
  readonly answer: AnswerHead;
  readonly body: string;

  constructor(answer: AnswerHead, body: string) {
    super(`upgrade answered ${answer.status}: ${body.slice(0, 500)}`);
    this.name = 'UpgradeRefused';
    this.answer = answer;
    this.body = body;
  }
}

/** All values of a header, lower-case name given. */
export function headerValues(answer: AnswerHead, name: string): readonly string[] {
  return answer.headers.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
}

/**
 * Connects, sends the request and waits for 101.
 * @throws UpgradeRefused for any other answer; Error when the connection fails, ends early or takes too long
 */
export async function requestUpgrade(options: ConnectOptions, call: UpgradeCall): Promise<Upgraded> {
  const socket = await connect(options);
  const fields = [
    ['Host', `${options.host}:${options.port}`],
    ['Connection', 'Upgrade'],
    ['Upgrade', call.token],
    ...(call.method === 'POST' ? [['Content-Length', '0']] : []),
    ...call.headers,
    ...options.headers,
  ];
  socket.write(
    `${call.method} ${call.target} HTTP/1.1\r\n${fields.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n`,
    'latin1',
  );
  const { head, rest } = await readHead(socket, options.timeoutMs ?? 10_000);
  if (head.status === 101) return { ...head, socket, head: rest };
  const chunks = [rest];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.resume();
  const length = Number(headerValues(head, 'content-length')[0] ?? Infinity);
  while (chunks.reduce((sum, chunk) => sum + chunk.length, 0) < length && !socket.destroyed && !socket.readableEnded) {
    await new Promise((resolve) => {
      for (const name of ['data', 'end', 'close']) socket.once(name, resolve);
    });
  }
  socket.destroy();
  throw new UpgradeRefused(head, Buffer.concat(chunks).toString());
}

function connect(options: ConnectOptions): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const address = { host: options.host, port: options.port };
    const serverName = options.serverName ?? options.host;
    const { ca, cert, key } = options;
    const socket =
      ca === undefined
        ? net.connect(address, () => ready())
        : tls.connect(
            {
              ...address,
              ca,
              cert,
              key,
              ALPNProtocols: ['http/1.1'],
              ...(net.isIP(serverName) === 0 ? { servername: serverName } : {}),
            },
            () => ready(),
          );
    socket.setTimeout(options.timeoutMs ?? 10_000, () => socket.destroy(new Error('connecting took too long')));
    socket.once('error', reject);
    const ready = (): void => {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      socket.off('error', reject);
      // Faults after this show as an early end to whoever reads.
      socket.on('error', () => undefined);
      resolve(socket);
    };
  });
}

function readHead(
  socket: net.Socket,
  timeoutMs: number,
): Promise<{ readonly head: AnswerHead; readonly rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const finish = (): void => {
      clearTimeout(timer);
      socket.off('data', onData);
      socket.off('close', onClose);
    };
    const onClose = (): void => {
      finish();
      reject(
        new Error(`connection closed before the answer was complete: ${JSON.stringify(bytes.toString('latin1'))}`),
      );
    };
    const onData = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf('\r\n\r\n');
      if (end === -1) return;
      finish();
      socket.pause();
      resolve({ head: parseHead(bytes.toString('latin1', 0, end)), rest: bytes.subarray(end + 4) });
    };
    const timer = setTimeout(() => socket.destroy(new Error('no answer in time')), timeoutMs);
    socket.on('data', onData);
    socket.on('close', onClose);
  });
}

function parseHead(text: string): AnswerHead {
  const [line = '', ...fields] = text.split('\r\n');
  const headers = fields.map((field) => {
    const colon = field.indexOf(':');
    return [field.slice(0, colon), field.slice(colon + 1).trim()] as const;
  });
  return { status: Number(line.split(' ')[1]), headers };
}
