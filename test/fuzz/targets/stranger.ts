// What a head costs before anybody knows who sends it: from its bytes to the answer of the authenticators. Each reader
// for itself is cheap, and a field that is read by four of them is not. Inputs write long runs as `«piece»times`, or
// the corpus would be megabytes.
import { makeAuthenticator } from '../../../auth/callers/authenticate.ts';
import { makeJwtAuthenticator } from '../../../auth/jwt/jwt.ts';
import { makeStaticTokenAuthenticator } from '../../../auth/callers/static-token.ts';
import { GatewayError } from '../../../model/errors.ts';
import { HttpFault } from '../../../http/http-fault.ts';
import { HeadReader, judge } from '../../../http/http1/http1-parser.ts';
import { readRequest } from '../../../request/read-request.ts';
import { upgradeToken } from '../../../routing/forward/upgrade.ts';
import { mutatedTexts } from '../mutations.ts';
import { must, refusalOf } from '../target.ts';
import type { FuzzTarget } from '../target.ts';

const mostBytes = 1024 * 1024;

const words = [
  '«,»900000',
  '« »900000',
  '«a,»400000',
  '«/%41»16000',
  '«/%25»990',
  '«%25»16000',
  '«&»60000',
  '«a: b\r\n»20000',
  '\r\nConnection: upgrade',
  '\r\nConnection: «,»1000',
  '\r\nUpgrade: websocket',
  '\r\nSec-WebSocket-Protocol: a, base64url.bearer.authorization.k8s.io.«YWFh»9000',
  '\r\nAuthorization: Bearer ',
  'eyJhbGciOiJSUzI1NiJ9.',
  '«W10s»10000',
  '.AAAA',
  '\r\nX-A: «b»900000',
  '?fieldSelector=metadata.name%3Da«,a=b»10000',
] as const;

const jwt = makeJwtAuthenticator({
  follow: () => ({
    current: () => undefined,
    first: () => Promise.resolve(undefined),
    changed: () => Promise.resolve(undefined),
    fault: () => undefined,
    close: () => undefined,
  }),
} as unknown as Parameters<typeof makeJwtAuthenticator>[0]);
jwt.replace([{ issuer: { url: 'https://idp.test' }, audiences: ['a'] }] as unknown as Parameters<
  typeof jwt.replace
>[0]);
const authenticate = makeAuthenticator([makeStaticTokenAuthenticator([]).authenticate, jwt.authenticate]);

function expanded(input: string): string {
  let left = mostBytes;
  return input
    .replace(/«([^»]{1,99})»(\d{1,6})/g, (_, piece: string, times: string) => {
      const count = Math.min(Number(times), Math.floor(left / piece.length));
      left -= count * piece.length;
      return piece.repeat(count);
    })
    .slice(0, mostBytes);
}

/** All that is done for a request of a stranger. @throws HttpFault, GatewayError */
function read(bytes: Buffer): void {
  const reader = new HeadReader();
  if (reader.read(bytes) < 0) return;
  const head = reader.head!;
  const { upgrade } = judge(head);
  const token = upgrade ? upgradeToken(head.method, head.headers) : undefined;
  const { target } = readRequest(head.method, head.target, undefined, token !== undefined);
  void authenticate({
    rawHeaders: head.headers,
    peerCertificates: [],
    tlsAuthorized: false,
    path: target.path,
  });
  must(false, 'a stranger was let in');
}

export const strangerTarget: FuzzTarget<string> = {
  name: 'stranger',
  share: 5_000,
  // A whole head of 1 MiB in 20,000 fields takes 7 ms; what may be long and is taken apart used to take up to 180.
  slowMs: 20,
  arbitrary: (corpus) => mutatedTexts(corpus, words),
  check(input) {
    const bytes = Buffer.from(`${expanded(input)}\r\n\r\n`, 'latin1');
    refusalOf(
      () => read(bytes),
      (error) => error instanceof HttpFault || error instanceof GatewayError,
    );
    return undefined;
  },
};
