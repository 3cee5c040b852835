// HTTP/2 frame by frame: header blocks that no library would send. An answer's header block is compressed, so the
// dynamic table is switched off and only :status is read.
import { once } from 'node:events';
import { connect } from 'node:tls';
import { trusting } from './raw-client.ts';
import type { Endpoint } from './raw-client.ts';
import { block, frame } from './http2-frames.ts';

/** How a raw stream ended: a status code, or that it was reset, or that the whole connection was. */
export type RawOutcome = number | 'reset' | 'closed';

const frameData = 0;
const frameHeaders = 1;
const frameReset = 3;
const frameSettings = 4;
const endStream = 1;
const endHeaders = 4;

/** One header block and what follows it. */
export interface RawHttp2Request {
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** DATA frames; the last one ends the stream unless there are trailers. None: the headers end it. */
  readonly data?: readonly string[];
  readonly trailers?: readonly (readonly [name: string, value: string])[];
}

/** Sends one request on a connection of its own and waits for its first answer. */
export async function rawHttp2(endpoint: Endpoint, request: RawHttp2Request): Promise<RawOutcome> {
  const socket = connect({
    host: '127.0.0.1',
    port: endpoint.port,
    secureContext: trusting(endpoint),
    ALPNProtocols: ['h2'],
  });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  const { promise, resolve } = Promise.withResolvers<RawOutcome>();
  let bytes: Buffer = Buffer.alloc(0);
  socket.on('close', () => resolve('closed'));
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 9) {
      const length = bytes.readUIntBE(0, 3);
      if (bytes.length < 9 + length) return;
      const type = bytes[3];
      const stream = bytes.readUInt32BE(5);
      const payload = bytes.subarray(9, 9 + length);
      if (stream === 1 && type === frameHeaders) resolve(statusOf(payload));
      if (stream === 1 && type === frameReset) resolve('reset');
      bytes = bytes.subarray(9 + length);
    }
  });
  const { headers, data = [], trailers } = request;
  const last = data.length === 0 && trailers === undefined;
  socket.write(
    Buffer.concat([
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'),
      // HEADER_TABLE_SIZE = 0: nothing of an answer is indexed dynamically.
      frame(frameSettings, 0, 0, Buffer.from([0, 1, 0, 0, 0, 0])),
      frame(frameSettings, 1, 0, Buffer.alloc(0)),
      frame(frameHeaders, endHeaders | (last ? endStream : 0), 1, block(...headers)),
      ...data.map((piece, i) => {
        const ends = i === data.length - 1 && trailers === undefined;
        return frame(frameData, ends ? endStream : 0, 1, Buffer.from(piece, 'latin1'));
      }),
      ...(trailers === undefined ? [] : [frame(frameHeaders, endHeaders | endStream, 1, block(...trailers))]),
    ]),
  );
  const outcome = await promise;
  socket.destroy();
  return outcome;
}

const indexedStatus: Readonly<Record<number, number>> = {
  8: 200,
  9: 204,
  10: 206,
  11: 304,
  12: 400,
  13: 404,
  14: 500,
};

/** `:status` of a block without dynamic table: indexed, or a literal of static name 8. */
function statusOf(payload: Buffer): number {
  let at = 0;
  while ((payload[at]! & 0xe0) === 0x20) at++;
  const first = payload[at]!;
  if ((first & 0x80) !== 0) return indexedStatus[first & 0x7f] ?? Number.NaN;
  const length = payload[at + 1]!;
  const value = payload.subarray(at + 2, at + 2 + (length & 0x7f));
  return Number((length & 0x80) === 0 ? value.toString('latin1') : huffmanDigits(value));
}

/** Digits of RFC 7541 appendix B: 0 to 2 have five bits, the others six. */
function huffmanDigits(bytes: Buffer): string {
  let bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let digits = '';
  while (digits.length < 3) {
    const short = Number.parseInt(bits.slice(0, 5), 2);
    const digit = short < 3 ? short : Number.parseInt(bits.slice(0, 6), 2) - 22;
    digits += String(digit);
    bits = bits.slice(short < 3 ? 5 : 6);
  }
  return digits;
}
