// Makes cases: whole requests of the parts in words.ts, several on a connection, then changed a little. Most requests
// must be let through, or nothing is compared; so what is odd is rare in each place, and there are many places.
import * as fc from 'fast-check';
import { changed } from '../mutations.ts';
import { users } from './case.ts';
import type { Http1Case, Http2Case, Http2Step, RequestCase, SentField } from './case.ts';
import { manners } from './hpack.ts';
import { headers } from './header-words.ts';
import { byteWords, methods, prefixes, queries, roots, segments, smuggled } from './words.ts';

interface Draft {
  readonly method: string;
  readonly target: string;
  readonly token: string | undefined;
  readonly headers: readonly (readonly [string, string])[];
  readonly framing: string;
  readonly body: string;
}

const pick = <T>(list: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...list);
const rarely = <T>(usual: T, odd: fc.Arbitrary<T>, weight = 6): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: odd });

const targets: fc.Arbitrary<string> = fc
  .tuple(
    fc.oneof({ weight: 3, arbitrary: pick(prefixes.slice(0, 5)) }, { weight: 1, arbitrary: pick(prefixes) }),
    pick(roots),
    fc.oneof(
      { weight: 3, arbitrary: fc.array(pick(segments.slice(0, 22)), { maxLength: 4, size: 'max' }) },
      { weight: 2, arbitrary: fc.array(pick(segments), { maxLength: 5, size: 'max' }) },
    ),
    fc.array(pick(queries), { maxLength: 3, size: 'max' }),
  )
  .map(([prefix, root, path, query]) => {
    const text = query.join('');
    const joined = text === '' || /^[?;#/%+]/.test(text) ? text : `?${text.slice(1)}`;
    return prefix + root + path.join('') + joined;
  });

const framings = [
  ...[
    'right',
    'right',
    'right',
    'chunked',
    'chunked',
    'chunks',
    'trailers',
    'odd-trailers',
    'short',
    'long',
    'both',
    'twice',
  ],
  ...['extension', 'plus', 'none'],
];

const drafts: fc.Arbitrary<Draft> = fc.record({
  method: pick(methods),
  target: targets,
  token: rarely<string | undefined>('alice-token', pick([...users.map(({ token }) => token), undefined, 'x']), 2),
  headers: fc.oneof(
    { weight: 3, arbitrary: fc.array(pick(headers), { maxLength: 2, size: 'max' }) },
    { weight: 1, arbitrary: fc.array(pick(headers), { maxLength: 8, size: 'max' }) },
    { weight: 1, arbitrary: upgrades() },
  ),
  framing: pick(framings),
  body: rarely('', pick(['{}', 'hello', smuggled, '0\r\n\r\n', '5\r\nhello\r\n0\r\n\r\n', 'x'.repeat(20_000)]), 2),
});

function upgrades(): fc.Arbitrary<readonly (readonly [string, string])[]> {
  return fc
    .tuple(pick(['websocket', 'SPDY/3.1', 'WebSocket', 'spdy/3.1']), fc.array(pick(headers), { maxLength: 2 }))
    .map(([token, more]) => [['Connection', 'Upgrade'], ['Upgrade', token], ...more] as const);
}

const numbers = fc.array(fc.noBias(fc.nat(0x7fff_ffff)), { maxLength: 9, size: 'max' });

/** Cases of both protocols. */
export function requestCases(corpus: readonly RequestCase[]): fc.Arbitrary<RequestCase> {
  const texts = corpus.filter((one) => one.protocol === '1').map(({ bytes }) => bytes);
  const others = corpus.filter((one) => one.protocol === '2');
  const fresh = fc.array(drafts, { minLength: 1, maxLength: 3, size: 'max' });
  const pieces = pick([1, 1, 1, 2, 3, 40]);
  const made = fc.tuple(fresh, rarely<number[]>([], numbers, 2), pieces).map(([all, change, count]): Http1Case => ({
    protocol: '1',
    bytes: changed(all.map(bytesOf).join(''), texts.length === 0 ? [''] : texts, byteWords, change),
    pieces: count,
  }));
  const kept = fc
    .tuple(pick(texts.length === 0 ? [''] : texts), numbers, pieces)
    .map(([text, change, count]): Http1Case => ({
      protocol: '1',
      bytes: changed(text, texts, byteWords, change),
      pieces: count,
    }));
  return fc.oneof(
    { weight: 9, arbitrary: made },
    { weight: 2, arbitrary: kept },
    { weight: 9, arbitrary: http2Cases(fresh) },
    ...(others.length === 0 ? [] : [{ weight: 1, arbitrary: pick(others) }]),
  );
}

/** A request of HTTP/1.1. */
function bytesOf({ method, target, token, headers: more, framing, body }: Draft): string {
  const lines = [`${method} ${target} HTTP/1.1`];
  if (!more.some(([name]) => name === 'Host')) lines.push('Host: gateway.test');
  if (token !== undefined) lines.push(`Authorization: Bearer ${token}`);
  for (const [name, value] of more) lines.push(`${name}: ${value}`);
  const [extra, content] = framed(framing, body);
  return `${[...lines, ...extra].join('\r\n')}\r\n\r\n${content}`;
}

function framed(framing: string, body: string): readonly [lines: readonly string[], bytes: string] {
  if (body === '') return [[], ''];
  const length = body.length;
  const size = length.toString(16);
  const chunked = 'Transfer-Encoding: chunked';
  switch (framing) {
    case 'chunked':
      return [[chunked], `${size}\r\n${body}\r\n0\r\n\r\n`];
    case 'chunks':
      return [[chunked], `1\r\n${body[0]!}\r\n${(length - 1).toString(16)}\r\n${body.slice(1)}\r\n0\r\n\r\n`];
    case 'trailers':
      return [[chunked, 'Trailer: X-A'], `${size}\r\n${body}\r\n0\r\nX-A: b\r\n\r\n`];
    case 'odd-trailers':
      return [[chunked], `${size}\r\n${body}\r\n0\r\nImpersonate-User: root\r\nContent-Length: 3\r\n\r\n`];
    case 'short':
      return [[`Content-Length: ${length - 1}`], body];
    case 'long':
      return [[`Content-Length: ${length + 7}`], body];
    case 'both':
      return [[`Content-Length: ${length}`, chunked], `${size}\r\n${body}\r\n0\r\n\r\n`];
    case 'twice':
      return [[`Content-Length: ${length}`, 'Content-Length: 0'], body];
    case 'extension':
      return [[chunked], `${size};a="b\r\n${body}\r\n0;c\r\n\r\n`];
    case 'plus':
      return [[chunked], `+${size}\r\n${body}\r\n00\r\n\r\n`];
    case 'none':
      return [[], body];
    default:
      return [[`Content-Length: ${length}`], body];
  }
}

const authorities = ['gateway.test', 'other.test', '', '127.0.0.1', 'a b', 'user@gateway.test', 'gateway.test:443'];

/** How the requests of a case become steps. */
const manner = fc.record({
  hows: fc.array(fc.nat(manners - 1), { minLength: 1, maxLength: 6, size: 'max' }),
  frameBytes: rarely(0, pick([1, 3, 17, 200])),
  authority: rarely<string | undefined>('gateway.test', pick([...authorities, undefined])),
  /** An odd pseudo header, or a header where none may be. */
  odd: rarely<readonly (readonly [string, string])[]>(
    [],
    pick([
      [[':path', '/clusters/m2/proxy/api/v1/secrets']],
      [[':authority', 'other.test']],
      [[':protocol', 'websocket']],
      [[':status', '200']],
      [['Authorization', 'Bearer root-token']],
      [['impersonate-user ', 'root']],
      [['host', 'other.test']],
      [['connection', 'upgrade']],
      [['', 'a']],
    ]),
    8,
  ),
  padding: rarely(0, pick([1, 255])),
  trailers: rarely<readonly (readonly [string, string])[] | undefined>(
    undefined,
    pick([[['x-a', 'b']], [['impersonate-user', 'root']], [[':path', '/']], [['authorization', 'Bearer root-token']]]),
    8,
  ),
  /** The same list once more, on the next stream. */
  again: fc.boolean(),
  frames: rarely<readonly Http2Step[]>([], fc.array(rawFrames(), { minLength: 1, maxLength: 3 }), 8),
});

function rawFrames(): fc.Arbitrary<Http2Step> {
  return fc.record({
    kind: fc.constant('frame' as const),
    type: pick([6, 4, 8, 2, 3, 9, 0, 1, 5, 7, 0x42]),
    flags: pick([0, 1, 4, 5, 8, 0x20, 0x25, 0xff]),
    stream: pick([0, 1, 3, 5, 2, 99]),
    payload: pick([
      '',
      '\0\0\0\x08',
      '\0\0\0\0',
      '\0\0\0\x01\x10',
      'aaaaaaaa',

      '\x82\x84\x87',
      '\0'.repeat(16),
    ]),
  });
}

function http2Cases(fresh: fc.Arbitrary<readonly Draft[]>): fc.Arbitrary<Http2Case> {
  return fc.tuple(fresh, fc.array(manner, { minLength: 3, maxLength: 3 })).map(([all, manners]) => {
    const steps: Http2Step[] = [];
    let stream = 1;
    for (const [index, draft] of all.entries()) {
      const how = manners[index]!;
      for (let round = 0; round < (how.again ? 2 : 1); round++) {
        steps.push(...stepsOf(draft, how, stream));
        stream += 2;
      }
      steps.push(...how.frames);
    }
    return { protocol: '2', steps };
  });
}

function stepsOf(
  draft: Draft,
  how: typeof manner extends fc.Arbitrary<infer T> ? T : never,
  stream: number,
): Http2Step[] {
  const { method, target, token, headers: more, body } = draft;
  const { authority, hows, odd, trailers, frameBytes, padding } = how;
  let at = 0;
  const field = ([name, value]: readonly [string, string]): SentField => ({
    name,
    value,
    how: hows[at++ % hows.length]!,
  });
  const list: (readonly [string, string])[] = [
    [':method', method],
    [':scheme', 'https'],
    ...(authority === undefined ? [] : [[':authority', authority] as const]),
    [':path', target],
    ...(token === undefined ? [] : [['authorization', `Bearer ${token}`] as const]),
    ...more
      .filter(([name]) => !/^(?:connection|upgrade|keep-alive|proxy-connection|transfer-encoding|te|host)$/i.test(name))
      .map(([name, value]) => [name.toLowerCase(), value] as const),
    ...odd,
  ];
  const fields = list.map(field);
  const steps: Http2Step[] = [
    { kind: 'headers', stream, fields, ends: body === '' && trailers === undefined, frameBytes },
  ];
  if (body !== '') {
    const piece = body.slice(0, 10_000);
    steps.push({ kind: 'data', stream, text: piece, ends: trailers === undefined, padding });
  }
  if (trailers !== undefined)
    steps.push({ kind: 'headers', stream, fields: trailers.map(field), ends: true, frameBytes: 0 });
  return steps;
}
