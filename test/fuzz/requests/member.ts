// A member that records every byte of each connection and answers whom it was asked as. Where it sees the end of a
// request decides nothing but when it answers; what was sent is judged by Go, which reads the same bytes.
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer } from 'node:tls';
import type { TestAuthority } from '../../pretend/certificates.ts';
import { serve } from '../../pretend/server.ts';

/** What came over one connection since the last look. */
export interface Segment {
  readonly cluster: string;
  /** Without the path below which the cluster has its API. */
  readonly bytes: Buffer;
  /** Requests the member saw, those included whose body is not complete. */
  readonly requests: number;
  /** Bytes behind the head of an upgrade that came before it was answered. */
  readonly early: number;
}

/** A running member. */
export interface RecordingMember {
  readonly port: number;
  /** Gives what was recorded and forgets it. */
  take(): Segment[];
  close(): void;
}

const websocketKey = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/**
 * Starts one for 127.0.0.1.
 * @param basePath below which its API is
 */
export async function startRecordingMember(
  cluster: string,
  basePath: string,
  authority: TestAuthority,
): Promise<RecordingMember> {
  const leaf = await authority.issue(['ip:127.0.0.1']);
  const lines = new Set<Line>();
  const listening = createServer({ ...leaf, ALPNProtocols: ['http/1.1'], allowHalfOpen: true }, (socket) => {
    const line = new Line(socket, basePath);
    lines.add(line);
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => (line.closed = true));
    socket.on('data', (chunk: Buffer) => line.take(chunk));
  });
  const { port, close } = await serve(listening);
  return {
    port,
    take() {
      const found: Segment[] = [];
      for (const line of lines) {
        if (line.hasMore) found.push({ cluster, ...line.forget() });
        if (line.closed) lines.delete(line);
      }
      return found;
    },
    close: () => void close(),
  };
}

/** One connection. */
class Line {
  readonly socket: Socket;
  closed = false;
  readonly #basePath: string;
  #recorded: Buffer[] = [];
  #requests = 0;
  #early = 0;
  #pending: Buffer = Buffer.alloc(0);
  /** The head of the request whose body is being read. */
  #head = '';
  /** What comes is no HTTP any more. */
  #tunnel = false;
  #answered = false;

  constructor(socket: Socket, basePath: string) {
    this.socket = socket;
    this.#basePath = basePath;
  }

  get hasMore(): boolean {
    return this.#recorded.length + this.#pending.length > 0;
  }

  forget(): Pick<Segment, 'bytes' | 'requests' | 'early'> {
    // What is not complete by now stays so: its client is gone.
    const bytes = Buffer.concat([...this.#recorded, this.#pending]);
    const taken = { bytes, requests: this.#requests, early: this.#early };
    this.#recorded = [];
    this.#pending = Buffer.alloc(0);
    this.#requests = 0;
    this.#early = 0;
    return taken;
  }

  take(chunk: Buffer): void {
    if (this.#tunnel) {
      if (!this.#answered) this.#early += chunk.length;
      return;
    }
    this.#pending = Buffer.concat([this.#pending, chunk]);
    while (!this.#tunnel && this.#next());
  }

  /** Whether there may be more. */
  #next(): boolean {
    if (this.#head === '') {
      const end = this.#pending.indexOf('\r\n\r\n');
      if (end < 0) return false;
      this.#head = this.#pending.toString('latin1', 0, end);
      this.#pending = this.#pending.subarray(end + 4);
      this.#requests += 1;
      this.#recorded.push(Buffer.from(`${this.#head.replace(` ${this.#basePath}/`, ' /')}\r\n\r\n`, 'latin1'));
      if (/\r\nupgrade: /i.test(this.#head)) {
        this.#switch();
        return false;
      }
    }
    const length = this.#bodyLength();
    if (length === undefined) return false;
    this.#recorded.push(this.#pending.subarray(0, length));
    this.#pending = this.#pending.subarray(length);
    this.#answer(this.#head);
    this.#head = '';
    return this.#pending.length > 0;
  }

  /** Bytes of the framed body, or undefined while it is not complete. */
  #bodyLength(): number | undefined {
    if (!/\r\ntransfer-encoding: chunked/i.test(this.#head)) {
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1] ?? 0);
      return this.#pending.length < length ? undefined : length;
    }
    for (let at = 0; ;) {
      const line = this.#pending.indexOf('\r\n', at);
      if (line < 0) return undefined;
      const size = Number.parseInt(this.#pending.toString('latin1', at, line), 16);
      at = line + 2 + size + 2;
      if (this.#pending.length < at) return undefined;
      if (size === 0) return at;
    }
  }

  #answer(head: string): void {
    const [method = '', target = ''] = head.split(' ', 2);
    const user = /\r\nimpersonate-user: (.*)/i.exec(head)?.[1] ?? '';
    const body = Buffer.from(JSON.stringify({ echo: true, user, target }));
    const status = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    this.socket.write(Buffer.concat([Buffer.from(status, 'latin1'), method === 'HEAD' ? Buffer.alloc(0) : body]));
  }

  /** Says 101 a little later: whatever comes before it came too early. */
  #switch(): void {
    this.#tunnel = true;
    this.#early += this.#pending.length;
    this.#pending = Buffer.alloc(0);
    const value = (name: string): string => new RegExp(`\\r\\n${name}: (.*)`, 'i').exec(this.#head)?.[1] ?? '';
    const key = value('sec-websocket-key');
    const accept = createHash('sha1').update(`${key}${websocketKey}`).digest('base64');
    setImmediate(() =>
      setImmediate(() => {
        this.#answered = true;
        const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${value('upgrade')}`];
        if (key !== '') lines.push(`Sec-WebSocket-Accept: ${accept}`);
        this.socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
      }),
    );
  }
}
