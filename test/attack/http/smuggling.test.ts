// Requests whose end two servers could see in different places. Each is refused with nothing upstream, or goes out
// framed anew so that no byte of it can be read as another request.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { http2Headers, openHttp2, openStream } from '../../site/http2-client.ts';
import { openRaw, requestBytes, upgradeLines } from '../../site/raw-client.ts';
import { rawHttp2 } from '../../site/raw-http2.ts';
import { startSite } from '../../site/site.ts';
import { waitFor } from '../../site/polling.ts';
import type { Site } from '../../site/site.ts';

const pods = '/clusters/m1/proxy/api/v1/namespaces/default/pods';
const alice = 'Authorization: Bearer alice-token';
const bob = 'Authorization: Bearer bob-token';
const smuggled = requestBytes('DELETE /clusters/m1/proxy/api/v1/SMUGGLED', [bob]);
let site: Site;

before(async () => {
  site = await startSite({
    users: [
      { token: 'alice-token', name: 'alice' },
      { token: 'bob-token', name: 'bob' },
    ],
  });
});
after(() => site.close());
afterEach(() => void site.members[0]!.requests.splice(0));

/** Sends bytes on a connection of their own; the statuses of all answers until it is closed or quiet. */
async function statusesOf(bytes: string): Promise<number[]> {
  const client = await openRaw(site);
  client.send(bytes);
  const statuses: number[] = [];
  try {
    for (;;) {
      const answer = await client.answer();
      statuses.push(answer.status);
      if (answer.values('connection').includes('close')) break;
    }
  } catch {
    // Closed.
  }
  client.close();
  return statuses;
}

const post = (lines: readonly string[], body: string): string => requestBytes(`POST ${pods}`, [alice, ...lines], body);
const chunked = ['Transfer-Encoding: chunked'];

/** Heads that are refused before anything else; behind each stands a whole request of somebody else. */
const heads: Record<string, string> = {
  'Transfer-Encoding: xchunked': post(['Transfer-Encoding: xchunked'], `0\r\n\r\n`),
  'Transfer-Encoding: chunked, identity': post(['Transfer-Encoding: chunked, identity'], `0\r\n\r\n`),
  'Transfer-Encoding: identity, chunked': post(['Transfer-Encoding: identity, chunked'], `0\r\n\r\n`),
  'Transfer-Encoding: gzip, chunked': post(['Transfer-Encoding: gzip, chunked'], `0\r\n\r\n`),
  'Transfer-Encoding: identity': post(['Transfer-Encoding: identity'], ''),
  'Transfer-Encoding: "chunked"': post(['Transfer-Encoding: "chunked"'], `0\r\n\r\n`),
  'Transfer-Encoding: chunked;q=1': post(['Transfer-Encoding: chunked;q=1'], `0\r\n\r\n`),
  'Transfer-Encoding: empty': post(['Transfer-Encoding:'], `0\r\n\r\n`),
  'Transfer-Encoding with a vertical tab': post(['Transfer-Encoding: \x0bchunked'], `0\r\n\r\n`),
  'two Transfer-Encoding': post([...chunked, ...chunked], `0\r\n\r\n`),
  'two different Transfer-Encoding': post([...chunked, 'Transfer-Encoding: identity'], `0\r\n\r\n`),
  'Content-Length before Transfer-Encoding': post(['Content-Length: 5', ...chunked], `0\r\n\r\n`),
  'Transfer-Encoding before Content-Length': post([...chunked, 'Content-Length: 5'], `0\r\n\r\n`),
  'Content-Length: 0 and Transfer-Encoding': post(['Content-Length: 0', ...chunked], `0\r\n\r\n`),
  'two equal Content-Length': post(['Content-Length: 5', 'Content-Length: 5'], 'hello'),
  'two different Content-Length': post(['Content-Length: 5', 'content-length: 0'], 'hello'),
  'a blank before the colon': post(['Transfer-Encoding : chunked'], `0\r\n\r\n`),
  'a blank before the header': post([' Transfer-Encoding: chunked'], `0\r\n\r\n`),
  'a tab before the header': post(['X: y', '\tTransfer-Encoding: chunked'], `0\r\n\r\n`),
  'a folded header': post(['X: y', ' z', ...chunked], `0\r\n\r\n`),
  'a header without a name': post([': x', ...chunked], `0\r\n\r\n`),
  'a header without a colon': post(['Transfer-Encoding', ...chunked], `0\r\n\r\n`),
  'a bare LF behind a header': post(['X: y\nTransfer-Encoding: chunked'], `0\r\n\r\n`),
  'a bare CR in a header': post(['X: y\rTransfer-Encoding: chunked'], `0\r\n\r\n`),
  'CR CR LF behind a header': post(['X: y\r'], ''),
  'NUL in a header': post(['X: y\x00'], ''),
  'NUL in a header name': post(['X\x00: y'], ''),
  'bare LF everywhere': post([], '').replaceAll('\r\n', '\n'),
  'a head that ends with LF LF': post([], '').replace(/\r\n\r\n$/, '\n\n'),
  'a head that ends with CR LF LF': post([], '').replace(/\r\n\r\n$/, '\r\n\n'),
  'no version': `GET ${pods}\r\nHost: a\r\n${alice}\r\n\r\n`,
  'HTTP/0.9': `GET ${pods}\r\n`,
  'HTTP/1.0 with Transfer-Encoding': post(chunked, `0\r\n\r\n`).replace('/1.1', '/1.0'),
  'HTTP/1.0 with both framings': post(['Content-Length: 5', ...chunked], `0\r\n\r\n`).replace('/1.1', '/1.0'),
  'HTTP/1.0 for health with Transfer-Encoding': `GET /readyz HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'HTTP/1.2': requestBytes(`GET ${pods}`, [alice]).replace('HTTP/1.1', 'HTTP/1.2'),
  'HTTP/2.0': requestBytes(`GET ${pods}`, [alice]).replace('HTTP/1.1', 'HTTP/2.0'),
  'HTTP/01.1': requestBytes(`GET ${pods}`, [alice]).replace('HTTP/1.1', 'HTTP/01.1'),
  'http/1.1': requestBytes(`GET ${pods}`, [alice]).replace('HTTP/1.1', 'http/1.1'),
  'no Host': `GET ${pods} HTTP/1.1\r\n${alice}\r\n\r\n`,
  'the preface of HTTP/2 on HTTP/1.1': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a method that is no token': requestBytes(`G@T ${pods}`, [alice]),
  'an expectation nobody has': post(['Expect: 200-ok', 'Content-Length: 5'], 'hello'),
};
for (const length of [
  '+5',
  '-5',
  '5 5',
  '5, 5',
  '5,',
  '0x5',
  '5a',
  '',
  '5.0',
  '1e1',
  "5'",
  '9'.repeat(20),
  '\xef\xbc\x95',
]) {
  heads[`Content-Length: ${JSON.stringify(length)}`] = post([`Content-Length: ${length}`], 'hello');
}

for (const [name, bytes] of Object.entries(heads)) {
  test(`${name}: 400 once, nothing upstream, nothing read on (ATT-33)`, async () => {
    assert.deepEqual(await statusesOf(bytes + smuggled), [400]);
    assert.equal(site.upstream(), 0);
  });
}

/** HTTP/1.0 knows no chunks, so a server of it and one of HTTP/1.1 may see two ends; it reaches no member. */
const oldHeads: Readonly<Record<string, readonly [number, string]>> = {
  'a list': [505, requestBytes(`GET ${pods}`, [alice])],
  'a list without Host': [505, `GET ${pods} HTTP/1.1\r\n${alice}\r\n\r\n`],
  'a list with keep-alive': [505, requestBytes(`GET ${pods}`, [alice, 'Connection: keep-alive'])],
  'a watch': [505, requestBytes(`GET ${pods}?watch=1`, [alice])],
  'a write': [505, post(['Content-Length: 5'], 'hello')],
  'every cluster': [505, requestBytes('GET /clusters/*/proxy/api/v1/pods', [alice])],
  'a WebSocket': [505, requestBytes(`GET ${pods}/p/exec`, [alice, ...upgradeLines('websocket')])],
  "the gateway's objects": [505, requestBytes('GET /apis/gateway.portcullis.io/v1alpha1/clusters', [alice])],
  health: [200, 'GET /readyz HTTP/1.1\r\n\r\n'],
  'health with keep-alive': [200, 'GET /livez HTTP/1.1\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n'],
  'health with a body': [200, requestBytes('GET /readyz', ['Content-Length: 5'], 'hello')],
  'health with an expectation': [200, requestBytes('GET /readyz', ['Expect: 100-continue'])],
};
for (const [name, [status, bytes]] of Object.entries(oldHeads)) {
  test(`HTTP/1.0 for ${name}: one answer, nothing upstream, nothing read on (ATT-33)`, async () => {
    assert.deepEqual(await statusesOf(bytes.replace('HTTP/1.1', 'HTTP/1.0') + smuggled), [status]);
    assert.equal(site.upstream(), 0);
  });
}

/** Chunked bodies that go wrong on the way: the member must not be left with what looks like a whole request. */
const bodies: Readonly<Record<string, string>> = {
  'a blank behind the size': '5 \r\nhello\r\n0\r\n\r\n',
  'a blank before the size': ' 5\r\nhello\r\n0\r\n\r\n',
  'a sign before the size': '+5\r\nhello\r\n0\r\n\r\n',
  'a negative size': '-5\r\nhello\r\n0\r\n\r\n',
  'a size with 0x': '0x5\r\nhello\r\n0\r\n\r\n',
  'a size that is no number': 'five\r\nhello\r\n0\r\n\r\n',
  'no size': '\r\nhello\r\n0\r\n\r\n',
  'a size beyond all bounds': `${'f'.repeat(20)}\r\nhello\r\n0\r\n\r\n`,
  'LF alone behind the size': '5\nhello\r\n0\r\n\r\n',
  'CR alone behind the size': '5\rhello\r\n0\r\n\r\n',
  'a chunk longer than its size': '5\r\nhello!\r\n0\r\n\r\n',
  'another byte and LF behind a chunk': '5\r\nhelloX\n0\r\n\r\n',
  'LF alone behind a chunk': '5\r\nhello\n0\r\n\r\n',
  'a bare LF in an extension': '5;a\nb\r\nhello\r\n0\r\n\r\n',
  'NUL in an extension': '5;\x00\r\nhello\r\n0\r\n\r\n',
  'LF alone at the end': '5\r\nhello\r\n0\n\n',
  'CR and another byte at the end': '5\r\nhello\r\n0\r\n\rX',
  'LF alone in a trailer': '5\r\nhello\r\n0\r\nA: b\nC: d\r\n\r\n',
};
for (const [name, body] of Object.entries(bodies)) {
  test(`chunks with ${name}: 400, and no whole request upstream (ATT-33)`, async () => {
    const statuses = await statusesOf(post(chunked, `3\r\nabc\r\n${body}`) + smuggled);
    assert.ok(statuses.length <= 1 && statuses.every((status) => status === 400), statuses.join());
    for (const request of site.members[0]!.requests) {
      assert.equal(request.method, 'POST');
      let whole = false;
      void request.body.then(() => (whole = true));
      await waitFor(() => request.socket.destroyed || request.socket.readableEnded);
      assert.equal(whole, false);
    }
  });
}

test('a body that ends early leaves the member with a request that looks cut (ATT-33)', async () => {
  for (const bytes of [
    post(['Content-Length: 50'], 'hello'),
    post(chunked, '5\r\nhello\r\n'),
    post(chunked, '9\r\nhel'),
  ]) {
    const client = await openRaw(site);
    client.send(bytes);
    const request = await site.members[0]!.request(0);
    let whole = false;
    void request.body.then(() => (whole = true));
    client.close();
    await waitFor(() => request.socket.destroyed || request.socket.readableEnded);
    assert.equal(whole, false);
    site.members[0]!.requests.splice(0);
  }
});

test('an upload over HTTP/2 that is reset leaves the member with a request that looks cut (ATT-33)', async () => {
  const session = await openHttp2(site);
  for (const more of [[], ['content-length', '50']]) {
    const list = http2Headers('POST', pods, ['authorization', 'Bearer alice-token', ...more]);
    const stream = openStream(session, list, false);
    stream.write('hello');
    const request = await site.members[0]!.request(0);
    let whole = false;
    void request.body.then(() => (whole = true));
    await waitFor(() => request.received().length === 5);
    // Not close(): Node's client ends the stream before it resets it, which would make the upload whole.
    stream.destroy();
    await waitFor(() => request.socket.destroyed || request.socket.readableEnded);
    assert.equal(whole, false);
    site.members[0]!.requests.splice(0);
  }
  session.destroy();
});

/** What is accepted, with the body that must arrive. */
const accepted: Readonly<Record<string, readonly [bytes: string, body: string]>> = {
  'chunk extensions': [post(chunked, '5;a=b;c="d;e"\r\nhello\r\n0;x\r\n\r\n'), 'hello'],
  'chunks in capital and padded hexadecimal': [post(chunked, `00A\r\n0123456789\r\n0\r\n\r\n`), '0123456789'],
  'CHUNKED in capitals': [post(['Transfer-Encoding: CHUNKED'], '5\r\nhello\r\n0\r\n\r\n'), 'hello'],
  'a body that looks like a request': [post([`Content-Length: ${smuggled.length}`], smuggled), smuggled],
  'a chunk that looks like a request': [
    post(chunked, `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`),
    smuggled,
  ],
  'a chunk that looks like the last chunk': [post(chunked, '7\r\n0\r\n\r\nGE\r\n0\r\n\r\n'), '0\r\n\r\nGE'],
  'a body with GET': [requestBytes(`GET ${pods}`, [alice, 'Content-Length: 5'], 'hello'), 'hello'],
  'Content-Length: 00005': [post(['Content-Length: 00005'], 'hello'), 'hello'],
  'blanks around Content-Length': [post(['Content-Length:\t 5 \t'], 'hello'), 'hello'],
  'look-alike framing headers': [
    post(
      ['Content-Length: 5', 'Transfer_Encoding: chunked', 'Content_Length: 0', 'X-Transfer-Encoding: chunked'],
      'hello',
    ),
    'hello',
  ],
  'trailers that name another user': [
    post(
      [...chunked, 'Trailer: Impersonate-User, Authorization'],
      '5\r\nhello\r\n0\r\nImpersonate-User: root\r\nImpersonate-Group: system:masters\r\nAuthorization: x\r\n__proto__: y\r\n\r\n',
    ),
    'hello',
  ],
};
for (const [name, [bytes, body]] of Object.entries(accepted)) {
  test(`${name}: framed anew, the same body, the same user, and the next request is the next request (ATT-33)`, async () => {
    const next = requestBytes(`GET ${pods}?next`, [bob, 'Connection: close']);
    assert.deepEqual(await statusesOf(bytes + next), [200, 200]);
    const [first, second, ...more] = site.members[0]!.requests;
    assert.deepEqual(more, []);
    assert.equal((await first!.body).toString('latin1'), body);
    assert.deepEqual(first!.values('impersonate-user'), ['alice']);
    assert.deepEqual(first!.values('impersonate-group'), []);
    assert.equal(first!.values('transfer-encoding').length + first!.values('content-length').length, 1);
    assert.doesNotMatch(first!.head, /root|masters|proto|;x|trailer|_/i);
    assert.deepEqual(second!.values('impersonate-user'), ['bob']);
    assert.ok(!site.members[0]!.bytes.some((all) => /(?:trailer|impersonate-user: root)/i.test(all)));
  });
}

test('pipelined requests are each judged by their own credential, in order (ATT-33)', async () => {
  const statuses = await statusesOf(
    [
      requestBytes(`GET ${pods}?1`, [alice]),
      requestBytes(`GET ${pods}?2`, [bob]),
      requestBytes(`GET ${pods}?3`),
      requestBytes(`POST ${pods}?4`, [alice, 'Content-Length: 2'], 'ab'),
      requestBytes(`GET ${pods}?5`, [bob, 'Connection: close']),
    ].join(''),
  );
  assert.deepEqual(statuses, [200, 200, 401, 200, 200]);
  const seen = site.members[0]!.requests.map(({ target, values }) => `${target.at(-1)} ${values('impersonate-user')}`);
  assert.deepEqual(seen, ['1 alice', '2 bob', '4 alice', '5 bob']);
});

test('an answer before the body was read is the last of its connection (ATT-33)', async () => {
  const noUser = requestBytes(`POST ${pods}`, [`Content-Length: ${smuggled.length + 100_000}`], smuggled);
  assert.deepEqual(await statusesOf(noUser + 'x'.repeat(100_000) + smuggled), [401]);
  assert.equal(site.upstream(), 0);
});

const pseudo = [
  [':method', 'POST'],
  [':scheme', 'https'],
  [':authority', 'gateway.test'],
  [':path', pods],
] as const;
const token = ['authorization', 'Bearer alice-token'] as const;

for (const [name, request] of Object.entries({
  'transfer-encoding': { headers: [...pseudo, token, ['transfer-encoding', 'chunked']], data: ['0\r\n\r\n'] },
  connection: { headers: [...pseudo, token, ['connection', 'impersonate-user']] },
  'proxy-connection': { headers: [...pseudo, token, ['proxy-connection', 'keep-alive']] },
  'a signed content-length': { headers: [...pseudo, token, ['content-length', '+5']], data: ['hello'] },
  'a content-length shorter than the body': { headers: [...pseudo, token, ['content-length', '2']], data: ['hello'] },
  'a content-length longer than the body': { headers: [...pseudo, token, ['content-length', '9']], data: ['hello'] },
  'a content-length and no body': { headers: [...pseudo, token, ['content-length', '5']] },
  'two content-lengths': {
    headers: [...pseudo, token, ['content-length', '5'], ['content-length', '5']],
    data: ['hello'],
  },
  'a pseudo header behind the others': { headers: [...pseudo.slice(1), token, pseudo[0]] },
  'a pseudo header in the trailers': { headers: [...pseudo, token], data: ['a'], trailers: [[':path', '/x']] },
} as const)) {
  test(`over HTTP/2, ${name}: refused, and no whole request upstream (ATT-33)`, async () => {
    const outcome = await rawHttp2(site, request);
    assert.ok(outcome === 'reset' || outcome === 'closed' || outcome === 400, String(outcome));
    for (const seen of site.members[0]!.requests) {
      let whole = false;
      void seen.body.then(() => (whole = true));
      await waitFor(() => seen.socket.destroyed || seen.socket.readableEnded);
      assert.equal(whole, false, seen.head);
    }
  });
}

for (const [name, header] of Object.entries({
  'CR LF in a value': ['x-one', 'a\r\nImpersonate-User: root'],
  'NUL in a value': ['user-agent', 'a\x00b'],
  'a colon in a name': ['impersonate-user: root\r\nx', 'y'],
  'a blank in a name': ['impersonate-user ', 'root'],
} as const)) {
  test(`over HTTP/2, a field with ${name} is refused or dropped (ATT-33)`, async () => {
    const outcome = await rawHttp2(site, { headers: [...pseudo, token, header] });
    assert.ok(outcome === 'reset' || outcome === 400 || outcome === 200, String(outcome));
    for (const request of site.members[0]!.requests) {
      assert.deepEqual(request.values('impersonate-user'), ['alice']);
      assert.doesNotMatch(request.head, /root/);
    }
  });
}

test('over HTTP/2, trailers that name another user are dropped (ATT-33)', async () => {
  const trailers = [
    ['impersonate-user', 'root'],
    ['authorization', 'Bearer bob-token'],
    ['__proto__', 'x'],
  ] as const;
  assert.equal(await rawHttp2(site, { headers: [...pseudo, token], data: ['hello'], trailers }), 200);
  const [request] = site.members[0]!.requests;
  assert.equal((await request!.body).toString(), 'hello');
  assert.deepEqual(request!.values('impersonate-user'), ['alice']);
  assert.ok(!site.members[0]!.bytes.some((all) => all.includes('root') && !all.includes('SMUGGLED')));
});
