// What a member answers: the HTTP/1.1 response parser. The parser moves chunks together inside the buffer it is given,
// so each reading gets bytes of its own.
import { ResponseParser } from '../../../routing/dial/response-parser.ts';
import type { ResponseKind } from '../../../routing/dial/response-parser.ts';
import { ResponseFault } from '../../../http/http1/chunked-body.ts';
import { mutatedTexts } from '../mutations.ts';
import { must, refusalOf } from '../target.ts';
import type { FuzzTarget } from '../target.ts';

const words = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  ' ',
  '\t',
  ':',
  '\0',
  '\x7f',
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.0 200 OK\r\n',
  'HTTP/2 200',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\n',
  'HTTP/1.1 204 No Content\r\n',
  'HTTP/1.1 304 x\r\n',
  ' 099 ',
  ' 600 ',
  'Content-Length: 5\r\n',
  'Content-Length: 0\r\n',
  'content-length: -1',
  'Content-Length: 5, 5',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip',
  'Connection: close\r\n',
  'Connection: keep-alive',
  'Location: /x\r\n',
  '5\r\nhello\r\n',
  '0\r\n\r\n',
  '0\r\nX-T: a\r\n\r\n',
  'hello',
  ';ext',
  'ffffffffffffff',
  ' folded',
  'X-A: b\r\n',
] as const;

const kinds: readonly ResponseKind[] = ['plain', 'head', 'upgrade', 'connect'];

export const responseTarget: FuzzTarget<string> = {
  name: 'response',
  share: 90_000,
  slowMs: 40,
  arbitrary: (corpus) => mutatedTexts(corpus, words),
  check(input) {
    for (const kind of input.length < 300 ? kinds : kinds.slice(0, 1))
      checkResponse(Buffer.from(input, 'latin1'), kind);
    return undefined;
  },
};

function checkResponse(bytes: Buffer, kind: ResponseKind): void {
  const whole = read(bytes, kind, bytes.length);
  must(
    JSON.stringify(read(bytes, kind, 1 + (bytes.length % 11))) === JSON.stringify(whole),
    'pieces are read in another way',
  );
  must(whole.used <= bytes.length, 'more was used than there is');
  must(whole.heads <= 1, 'one response had two heads');
  must(!whole.complete || whole.heads === 1, 'a response without a head is complete');
  must(
    whole.headers.every((text) => !/[\r\n\0]/.test(text)),
    'a line end passed in a header',
  );
  if (kind === 'head' || whole.status === 204 || whole.status === 304)
    must(whole.data === '', 'a body where none can be');
}

function read(bytes: Buffer, kind: ResponseKind, pieceBytes: number) {
  const seen = {
    heads: 0,
    status: 0,
    headers: [] as string[],
    data: '',
    used: 0,
    complete: false,
    keepAlive: false,
    refused: false,
  };
  const parser = new ResponseParser({
    onHeaders(status, headers) {
      seen.heads++;
      seen.status = status;
      seen.headers = headers;
    },
    onData: (chunk) => void (seen.data += chunk.toString('latin1')),
  });
  const mine = Buffer.from(bytes);
  parser.begin(kind);
  const outcome = refusalOf(
    () => {
      while (seen.used < mine.length && !parser.complete)
        seen.used += parser.push(mine.subarray(seen.used, Math.min(mine.length, seen.used + Math.max(1, pieceBytes))));
    },
    (error) => error instanceof ResponseFault,
  );
  seen.refused = 'refused' in outcome;
  seen.complete = parser.complete;
  seen.keepAlive = parser.complete && parser.keepAlive;
  // How far a refused response was read, and how much of it was told, depends on the pieces it came in.
  return seen.refused ? { ...seen, heads: 0, status: 0, headers: [], data: '', used: 0 } : seen;
}
