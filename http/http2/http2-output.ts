// Collects the frames of one turn of the event loop and passes them to the socket in one write, which makes one TLS
// record. A buffer goes back to the pool only after the socket's callback, because the socket uses it until then.
import type { Duplex } from 'node:stream';
import { frameHeadBytes } from './http2-frames.ts';

/** The two sizes of pooled buffers in bytes: for ordinary answers, and for large bodies. */
const smallBytes = 16 * 1024;
const largeBytes = 96 * 1024;
/**
 * Maximum number of unused buffers of each size that the pool of one listener keeps; further ones are left to garbage
 * collection.
 */
const maxIdleScratches = 32;
/**
 * Up to this size, output is copied into a buffer of its own. The copy is cheaper than keeping a pooled buffer until
 * the socket's callback.
 */
const copiedBytes = 4 * 1024;
/** When this many bytes have been collected, they are written without waiting for the end of the turn. */
const spilledBytes = 64 * 1024;

/**
 * What all connections of one listener share: the flush at the end of a turn of the event loop, and a pool of buffers.
 */
export interface OutputTurn {
  /** Arranges for one call of `output.flush()`, after the current turn of the event loop has read its sockets. */
  schedule(output: Http2Output): void;
  /** Takes a buffer of at least this size from the pool, or allocates one. */
  takeScratch(bytes: number): Buffer;
  giveScratch(scratch: Buffer): void;
}

/** Makes the flush and the pool of buffers that all connections of one listener share. */
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
      // Answers are made from what members send. The event loop reads all sockets before setImmediate callbacks, so all
      // answers of a turn are written together.
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

/**
 * Callback for one stream's output: called when the kernel has taken everything that was appended before `deliver()`.
 */
export interface Deliverable {
  delivered(): void;
}

/** A write that the socket has not confirmed yet by calling its callback. */
interface Written {
  readonly scratch: Buffer | undefined;
  readonly deliveries: Deliverable[];
}

const noBytes: Buffer = Buffer.alloc(0);

/** Collects and writes the output frames of one connection. */
export class Http2Output {
  /** The buffer that frames are appended to. The next reserve() or write may replace it. */
  bytes: Buffer = noBytes;
  length = 0;
  /** Increases with every write. An offset into `bytes` is valid only as long as this number is unchanged. */
  serial = 0;
  readonly #socket: Duplex;
  readonly #turn: OutputTurn;
  readonly #onFlushed: () => void;
  #isDue = false;
  #stopped = false;
  #deliveries: Deliverable[] = [];
  #written: Written[] = [];

  /** @param onFlushed called after every flush() */
  constructor(socket: Duplex, turn: OutputTurn, onFlushed: () => void) {
    this.#socket = socket;
    this.#turn = turn;
    this.#onFlushed = onFlushed;
  }

  /** Bytes that the kernel has not taken yet: those collected in this object, and those in the socket's buffer. */
  get waitingBytes(): number {
    return this.length + this.#socket.writableLength;
  }

  /** Ensures space for `count` more bytes in {@link bytes}, and schedules the flush that will write them. */
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

  /** Appends a frame header. The caller must have reserved space for it. */
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

  /** Appends a frame whose payload is one 32-bit number: RST_STREAM or WINDOW_UPDATE. */
  numberFrame(type: number, stream: number, value: number): void {
    this.reserve(frameHeadBytes + 4);
    this.frameHead(4, type, 0, stream);
    this.length = this.bytes.writeUInt32BE(value, this.length);
  }

  /** Appends a frame with the payload `payload[from, to)`. */
  frame(type: number, flags: number, stream: number, payload: Uint8Array, from = 0, to = payload.length): void {
    const count = to - from;
    this.reserve(frameHeadBytes + count);
    this.frameHead(count, type, flags, stream);
    this.bytes.set(from === 0 && to === payload.length ? payload : payload.subarray(from, to), this.length);
    this.length += count;
    if (this.length >= spilledBytes) this.#write();
  }

  /** Arranges for one call of `one.delivered()`, when the kernel has taken everything appended so far. */
  deliver(one: Deliverable): void {
    this.#deliveries.push(one);
  }

  /** Passes all collected bytes to the socket. */
  flush(): void {
    this.#isDue = false;
    if (this.#stopped) return;
    this.#write();
    this.#onFlushed();
  }

  /**
   * Stops writing, because the socket is gone.
   * @returns all objects registered with {@link deliver} whose bytes the kernel has not taken; the caller must notify
   *   them
   */
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
      // There is nothing new to write, so the bytes that `deliveries` wait for were part of an earlier write.
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
    // After an error nothing is reported here: the socket closes, and the connection then tells the streams that stop()
    // returns that their data was lost.
    if (this.#stopped || (error !== undefined && error !== null)) return;
    const { scratch, deliveries } = this.#written.shift()!;
    if (scratch !== undefined) this.#turn.giveScratch(scratch);
    for (const one of deliveries) one.delivered();
  };
}
