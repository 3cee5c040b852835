// Heads, bodies, paths and queries of HTTP/1.1 as one connection, which Go reads as well. The same bytes must be read
// alike in one piece, in small ones, and one by one.
import { readConnection } from '../connection.ts';
import { mutatedTexts } from '../mutations.ts';
import { must } from '../target.ts';
import type { Claim, FuzzTarget } from '../target.ts';

const headWords = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  ' ',
  '\t',
  ':',
  ',',
  ';',
  '\0',
  '\x7f',
  '\xa0',
  'é',
  'GET ',
  'POST ',
  'HEAD ',
  'PRI * HTTP/2.0',
  ' HTTP/1.1\r\n',
  ' HTTP/1.0',
  ' HTTP/2.0',
  ' HTTP/1.1 ',
  'Host: a\r\n',
  'host:b\r\n',
  'Host: a b',
  'Host: [::1]:1',
  'Host:\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: 0',
  'content-length: +5',
  'Content-Length: 5, 5',
  'Content-Length : 5',
  '18446744073709551616',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: identity',
  'transfer-encoding:\tCHUNKED',
  'Transfer-Encoding: gzip, chunked',
  'Transfer_Encoding: chunked',
  'Connection: close\r\n',
  'Connection: keep-alive, Upgrade\r\n',
  'Upgrade: websocket\r\n',
  'Expect: 100-continue\r\n',
  'Trailer: X-A\r\n',
  'Pragma: no-cache\r\n',
  ' folded',
  '\tfolded',
  'X-Remote-User: root\r\n',
  'Impersonate-User: root\r\n',
  '0\r\n\r\n',
  '5\r\nhello\r\n',
  '5;a=b\r\n',
  '0x5',
  '1e',
  'fffffffffffff',
  'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  '/api/v1/pods',
  '/clusters/a/proxy',
  '//',
  '/..',
  '%2f',
  '%00',
  '?watch=1',
  '#',
  '*',
  'http://a/',
  'X-A: b\r\n',
] as const;

const connections: FuzzTarget<string> = {
  name: 'http1-connection',
  share: 295_000,
  slowMs: 40,
  arbitrary: (corpus) => mutatedTexts(corpus, headWords),
  check: (input) => checkConnection(Buffer.from(input, 'latin1')),
};

const chunks: FuzzTarget<string> = {
  name: 'chunked-body',
  share: 60_000,
  slowMs: 40,
  arbitrary: (corpus) =>
    mutatedTexts(corpus, [
      '\r\n',
      '\n',
      '\r',
      '0\r\n',
      '0\r\n\r\n',
      '1\r\na\r\n',
      'a',
      'F',
      ';',
      ';a=b',
      ';a="\n"',
      '00',
      ' ',
      '\t',
      'X-A: b\r\n',
      ':',
      'Content-Length: 1\r\n',
      '-1',
      '0x1',
      '+1',
      '10000000000000',
      '\0',
      '\x80',
      'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    ]),
  check: (input) =>
    checkConnection(Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${input}`, 'latin1')),
};

const pathWords = [
  '/',
  '//',
  '.',
  '..',
  '/.',
  '/..',
  '/../',
  '%2e',
  '%2E%2e',
  '%252e',
  '%25252e',
  '%2f',
  '%2F',
  '%5c',
  '\\',
  ';',
  ';a=b',
  '..;',
  ':',
  '%',
  '%4',
  '%zz',
  '%00',
  '%0a',
  '%7f',
  '%c0%ae',
  '%ff',
  '%e2%80%a8',
  '%C3%A9',
  '~',
  '@',
  '*',
  '#',
  '?',
  '&',
  '=',
  ' ',
  '\t',
  '\xe9',
  '/api',
  '/api/v1',
  '/apis',
  '/apis/apps/v1',
  '/namespaces',
  '/namespaces/a',
  '/pods',
  '/pods/b',
  '/services/b:80',
  '/nodes/n',
  '/proxy',
  '/watch',
  '/exec',
  '/log',
  '/status',
  '/finalize',
  '/clusters/a/proxy',
  '/apis/gateway.portcullis.io/v1alpha1/clusters/a/proxy',
  '/version',
  '/healthz',
  'GET ',
  'DELETE ',
  'POST ',
  'HEAD ',
  'TRACE ',
] as const;

const paths: FuzzTarget<string> = {
  name: 'path',
  share: 180_000,
  slowMs: 40,
  arbitrary: (corpus) => mutatedTexts(corpus, pathWords),
  check: checkTarget,
};

const queryWords = [
  '?',
  '&',
  '=',
  ';',
  '+',
  '%20',
  '%',
  '%zz',
  '%ff',
  '%3D',
  '%26',
  '%2C',
  '%5C',
  ',',
  '!=',
  '==',
  '\\',
  '\\,',
  ' ',
  'watch',
  'watch=',
  'watch=1',
  'watch=0',
  'watch=false',
  'watch=FALSE',
  'fal%C5%BFe',
  '%C5%BF',
  '%E2%84%AA',
  'watch=true',
  'Watch=1',
  'fieldSelector=',
  'metadata.name=',
  'metadata.name==a',
  'metadata.name!=a',
  'metadata.namespace=b',
  'fieldSelector=metadata.name%3Da',
  'labelSelector=',
  'a%20in%20(b)',
  'labelSelector=a',
  'limit=',
  'limit=5',
  'limit=x',
  'continue=a',
  'resourceVersion=0',
  'resourceVersionMatch=Exact',
  'timeoutSeconds=',
  'timeoutSeconds=1',
  'timeoutSeconds=9999999999999999999',
  'allowWatchBookmarks=1',
  'sendInitialEvents=true',
  'sendInitialEvents=',
  '.',
  '..',
  '%2f',
  '/',
  'GET ',
  'DELETE ',
  'HEAD ',
  '/api/v1/pods',
  '/apis/apps/v1/namespaces/a/deployments',
  '/watch',
] as const;

const queries: FuzzTarget<string> = {
  name: 'query',
  share: 100_000,
  slowMs: 40,
  arbitrary: (corpus) => mutatedTexts(corpus, queryWords),
  check: checkTarget,
};

/** `METHOD target`, as one request. */
function checkTarget(input: string): Claim | undefined {
  const claim = checkConnection(Buffer.from(`${input} HTTP/1.1\r\nHost: a\r\n\r\n`, 'latin1'));
  for (const { parsed, target, pathFault } of claim?.read.requests ?? []) {
    if (parsed === undefined || pathFault !== '') continue;
    const { path, query, segments, starts } = parsed;
    must(path + query === target, 'path and query are not the target');
    must(starts.length === segments.length, 'a segment has no start');
    for (const [index, start] of starts.entries()) {
      must(path[start] === '/', 'a segment does not begin behind a slash');
      const raw = path.slice(start + 1, starts[index + 1] ?? path.length).replace(/\/$/, '');
      must(decodeURIComponent(raw) === segments[index], 'a segment is not what stands there');
      must(!/(?:^|[/\\])\.{1,2}(?:$|[/\\])/.test(segments[index]!), 'a dot segment passed');
      must(!climbs(segments[index]!), 'a dot segment passed that shows when it is decoded again');
      must(!/[\0-\x1f\x7f]/.test(segments[index]!), 'a control character passed');
    }
  }
  return claim;
}

/**
 * Whether a server that decodes once, twice or three times more would find `.` or `..`, with parameters behind it or
 * not.
 */
function climbs(segment: string): boolean {
  let text = segment;
  for (let round = 0; round < 3; round++) {
    text = text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (text.split(/[/\\]/).some((part) => /^\.{1,2}(?:;|$)/.test(part))) return true;
  }
  return false;
}

function checkConnection(bytes: Buffer): Claim | undefined {
  const read = readConnection(bytes);
  const whole = JSON.stringify(read);
  // Any size of piece would do; this one is another for most inputs and the same for the same input.
  const pieceBytes = 1 + ((bytes.length * 7) % 13);
  for (const size of bytes.length < 400 ? [1, pieceBytes] : [pieceBytes])
    must(JSON.stringify(readConnection(bytes, size)) === whole, `pieces of ${size} bytes are read in another way`);
  for (const { headers, method } of read.requests) {
    must(
      headers.every((text) => !/[\r\n\0]/.test(text)),
      'a line end passed in a header',
    );
    must(!/[\s\0]/.test(method), 'a blank passed in a method');
  }
  // Go is not asked when no request was accepted: then there is nothing that Go could read differently.
  return read.requests.length === 0 ? undefined : { bytes, read };
}

/** All of them, for the list of targets. */
export const http1Targets: readonly FuzzTarget<string>[] = [connections, chunks, paths, queries];
