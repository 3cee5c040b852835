// Collects the frames of one turn of the event loop and hands them to the socket in one write, so that an answer costs
// one TLS record. Bytes belong to the socket until it calls back; a buffer returns to the pool only then.
import type { Duplex } from 'node:stream';
import { frameHeadBytes } from './http2-frames.ts';

/** Two sizes of buffers: for answers, and for what a large body fills before it is handed over. */
const smallBytes = 16 * 1024;
const largeBytes = 96 * 1024;
/** Buffers of each size kept for the next turn by one listener. */
const maxIdleScratches = 32;
/** Below this a copy of its own is cheaper than a scratch that waits for the socket. */
const copiedBytes = 4 * 1024;
/** What one write hands over at most, when more is coming. */
const spilledBytes = 64 * 1024;

/** What connections of one listener share: their turn's flush, and buffers that would be idle most of the time. */
export interface OutputTurn {
  /** `flush` is called once, when the present turn of the event loop has read what it could. */
  schedule(output: Http2Output): void;
  /** A buffer of at least this size. */
  takeScratch(bytes: number): Buffer;
  giveScratch(scratch: Buffer): void;
}

/** Makes what one listener needs. */
export function makeOutputTurn(): OutputTurn {
  let due: Http2Output[] = [];
  const small: Buffer[] = [];
  const large: Buffer[] = [];
  const flush = (): void => {
    const now = due;
    due = [];
    for (const output of now) output.flush();
  };
  return {
    schedule(output) {
      // Answers come out of what members send, which a turn of the event loop reads first; after that, all answers go
      // out together.
      if (due.push(output) === 1) setImmediate(flush);
    },
    takeScratch(bytes) {
      if (bytes <= smallBytes) return small.pop() ?? Buffer.allocUnsafeSlow(smallBytes);
      if (bytes <= largeBytes) return large.pop() ?? Buffer.allocUnsafeSlow(largeBytes);
      return Buffer.allocUnsafeSlow(bytes * 2);
    },
    giveScratch(scratch) {
      const pool = scratch.length === smallBytes ? small : scratch.length === largeBytes ? large : undefined;
      if (pool !== undefined && pool.length < maxIdleScratches) pool.push(scratch);
    },
  };
}

/** Hears once the socket took everything that was appended before it. */
export interface Deliverable {
  delivered(): void;
}

/** One write the socket has not called back for. */
interface Written {
  readonly scratch: Buffer | undefined;
  readonly deliveries: Deliverable[];
}

const noBytes: Buffer = Buffer.alloc(0);

/** The bytes that leave one connection. */
export class Http2Output {
  /** Valid until the next reserve(). */
  bytes: Buffer = noBytes;
  length = 0;
  /** Grows with every write: an offset into `bytes` is good only as long as it stays the same. */
  serial = 0;
  readonly #socket: Duplex;
  readonly #turn: OutputTurn;
  readonly #onFlushed: () => void;
  #isDue = false;
  #stopped = false;
  #deliveries: Deliverable[] = [];
  #written: Written[] = [];

  /** @param onFlushed called after every write of a turn */
  constructor(socket: Duplex, turn: OutputTurn, onFlushed: () => void) {
    this.#socket = socket;
    this.#turn = turn;
    this.#onFlushed = onFlushed;
  }

  /** Bytes that have not left: here and in the socket. */
  get waitingBytes(): number {
    return this.length + this.#socket.writableLength;
  }

  /** Makes room for this many more bytes in {@link bytes}; a caller that reserves must write. */
  reserve(count: number): void {
    if (!this.#isDue) {
      this.#isDue = true;
      this.#turn.schedule(this);
    }
    if (this.length + count <= this.bytes.length) return;
    const grown = this.#turn.takeScratch(this.length + count);
    if (this.length > 0) grown.set(this.bytes.subarray(0, this.length));
    this.#turn.giveScratch(this.bytes);
    this.bytes = grown;
  }

  /** Appends the head of a frame; room must have been reserved. */
  frameHead(length: number, type: number, flags: number, stream: number): void {
    const { bytes, length: at } = this;
    bytes[at] = length >> 16;
    bytes[at + 1] = length >> 8;
    bytes[at + 2] = length;
    bytes[at + 3] = type;
    bytes[at + 4] = flags;
    bytes[at + 5] = stream >>> 24;
    bytes[at + 6] = stream >> 16;
    bytes[at + 7] = stream >> 8;
    bytes[at + 8] = stream;
    this.length = at + frameHeadBytes;
  }

  /** Appends a frame whose payload is one number of four bytes: RST_STREAM, WINDOW_UPDATE. */
  numberFrame(type: number, stream: number, value: number): void {
    this.reserve(frameHeadBytes + 4);
    this.frameHead(4, type, 0, stream);
    this.length = this.bytes.writeUInt32BE(value, this.length);
  }

  /** Appends a whole frame. */
  frame(type: number, flags: number, stream: number, payload: Uint8Array, from = 0, to = payload.length): void {
    const count = to - from;
    this.reserve(frameHeadBytes + count);
    this.frameHead(count, type, flags, stream);
    this.bytes.set(from === 0 && to === payload.length ? payload : payload.subarray(from, to), this.length);
    this.length += count;
    if (this.length >= spilledBytes) this.#write();
  }

  /** Calls delivered() once what was appended so far is with the kernel. */
  deliver(one: Deliverable): void {
    this.#deliveries.push(one);
  }

  /** Hands everything to the socket. */
  flush(): void {
    this.#isDue = false;
    if (this.#stopped) return;
    this.#write();
    this.#onFlushed();
  }

  /** The socket is gone: nothing is written any more. Gives those who still wait, for the caller to inform. */
  stop(): readonly Deliverable[] {
    this.#stopped = true;
    this.length = 0;
    this.bytes = noBytes;
    const waiting = [...this.#written.flatMap(({ deliveries }) => deliveries), ...this.#deliveries];
    this.#written = [];
    this.#deliveries = [];
    return waiting;
  }

  #write(): void {
    const { length } = this;
    const deliveries = this.#deliveries;
    if (deliveries.length > 0) this.#deliveries = [];
    if (length === 0) {
      // What they wait for went out before.
      const last = this.#written.at(-1);
      if (last !== undefined) last.deliveries.push(...deliveries);
      else for (const one of deliveries) one.delivered();
      return;
    }
    const scratch = this.bytes;
    this.bytes = noBytes;
    this.length = 0;
    this.serial++;
    if (length <= copiedBytes) {
      const copy = Buffer.allocUnsafe(length);
      copy.set(scratch.subarray(0, length));
      this.#turn.giveScratch(scratch);
      this.#written.push({ scratch: undefined, deliveries });
      this.#socket.write(copy, this.#onWritten);
    } else {
      this.#written.push({ scratch, deliveries });
      this.#socket.write(scratch.subarray(0, length), this.#onWritten);
    }
  }

  readonly #onWritten = (error?: Error | null): void => {
    // A socket that failed closes; its connection informs all that wait.
    if (this.#stopped || (error !== undefined && error !== null)) return;
    const { scratch, deliveries } = this.#written.shift()!;
    if (scratch !== undefined) this.#turn.giveScratch(scratch);
    for (const one of deliveries) one.delivered();
  };
}
