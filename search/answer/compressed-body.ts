// Compresses large answers with gzip when the client accepts that, by kube-apiserver's rules: never below 128 KiB, at
// level 1 (k8s.io/apiserver pkg/endpoints/handlers/responsewriters/writers.go). zlib works in Node's thread pool, so
// other requests are not held up while an answer is compressed.
import { createGzip } from 'node:zlib';
import type { Gzip } from 'node:zlib';
import { headerValues } from '../../http/raw-headers.ts';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import { beginBody, ClientGone, sendWhole } from './answer-body.ts';
import type { AnswerBody, Warning } from './answer-body.ts';
import type { IndexRequest } from '../request/request.ts';

/** Answers of at least so many bytes are compressed: defaultGzipThresholdBytes of kube-apiserver. */
const thresholdBytes = 128 * 1024;
/** The level of kube-apiserver: a third of the time of zlib's usual level, for answers that are a little larger. */
const level = 1;
/**
 * Most answers that are compressed at the same time. Each holds 256 KiB in zlib and has at most one job in the thread
 * pool, which also resolves host names. Further answers are sent uncompressed.
 */
const mostAtOnce = 16;
/**
 * Answers are compressed in pieces of this many bytes, so that a large answer is not compressed faster than the client
 * reads it.
 */
const pieceBytes = 256 * 1024;

let running = 0;

/**
 * Whether this answer may be compressed: the client accepts gzip, the answer has a body, and fewer than
 * `mostAtOnce` answers are being compressed.
 */
function mayCompress({ inbound, headers }: Pick<IndexRequest, 'inbound' | 'headers'>): boolean {
  if (inbound.method === 'HEAD' || running >= mostAtOnce) return false;
  // As in kube-apiserver, an element with a quality (`gzip;q=0.5`) does not count.
  return headerValues(headers, 'accept-encoding').some((value) =>
    value.split(',').some((element) => element.trim() === 'gzip'),
  );
}

const gzipHeaders: readonly string[] = ['Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding'];

/** The parts of the head of an answer besides its status. */
export interface AnswerHead {
  readonly warnings: readonly Warning[];
  readonly contentType?: string | undefined;
  /** Further headers, as names and values in turn. */
  readonly headers?: readonly string[] | undefined;
}

/** The parts of the gateway that an answer of unknown length needs. */
export interface AnswerParts {
  readonly openStreams: OpenStreams;
  onError(error: unknown): void;
}

/** Writes bytes of an answer; resolves when the client can take more. @throws ClientGone (rejects) */
export type Write = (chunk: Buffer) => Promise<void>;

/** Sends an answer that is in memory: compressed when it is large, otherwise with its length. */
export async function sendPieces(
  request: IndexRequest,
  pieces: readonly Buffer[],
  head: AnswerHead,
  parts: AnswerParts,
): Promise<void> {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (bytes < thresholdBytes || !mayCompress(request)) {
    sendWhole(request, pieces, head.warnings, head.contentType, 200, head.headers);
    return;
  }
  await sendParts(request, head, parts, async (write) => {
    for (const piece of pieces) await write(piece);
  });
}

/**
 * Sends an answer of unknown length. It is compressed without regard to {@link thresholdBytes}. An error after the head
 * was sent closes the connection, so that the client does not take the part that it has for the whole answer.
 * @param produce writes the parts; its promise resolves when all are written
 */
export async function sendParts(
  request: IndexRequest,
  { warnings, contentType, headers = [] }: AnswerHead,
  { openStreams, onError }: AnswerParts,
  produce: (write: Write) => Promise<void>,
): Promise<void> {
  const isCompressed = mayCompress(request);
  const all = isCompressed ? [...headers, ...gzipHeaders] : headers;
  const body = beginBody(request, warnings, openStreams, { kind: 'short', contentType, headers: all });
  if (request.inbound.method === 'HEAD') {
    body.end();
    return;
  }
  const gzip = isCompressed ? new CompressedBody(body) : undefined;
  try {
    await produce((chunk) => (gzip ?? body).write(chunk));
    if (gzip === undefined) body.end();
    else await gzip.end();
  } catch (error) {
    if (error instanceof ClientGone) return;
    request.outcome.error ??= error;
    onError(error);
    body.abort();
  } finally {
    gzip?.free();
  }
}

/** Compresses the bytes of an answer, and writes the result to its body. */
class CompressedBody {
  readonly #body: AnswerBody;
  readonly #gzip: Gzip = createGzip({ level });
  #ready: Buffer[] = [];

  constructor(body: AnswerBody) {
    this.#body = body;
    running += 1;
    this.#gzip.on('data', (piece: Buffer) => this.#ready.push(piece));
  }

  /** Resolves when the client can take more bytes. @throws ClientGone (rejects) */
  async write(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes);
      await new Promise<void>((resolve, reject) => {
        this.#gzip.write(piece, (error) => (error ? reject(error) : resolve()));
      });
      await this.#flush();
    }
  }

  /** Sends the rest and ends the answer. @throws ClientGone (rejects) */
  async end(): Promise<void> {
    const ended = new Promise<void>((resolve, reject) => this.#gzip.once('end', resolve).once('error', reject));
    this.#gzip.end();
    await ended;
    await this.#flush();
    this.#body.end();
  }

  /** Frees the memory of zlib. To be called once in every case, also after an error. */
  free(): void {
    running -= 1;
    this.#gzip.destroy();
  }

  async #flush(): Promise<void> {
    if (this.#ready.length === 0) return;
    const ready = Buffer.concat(this.#ready);
    this.#ready = [];
    await this.#body.write(ready);
  }
}
