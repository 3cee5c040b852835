// A member that somebody else has taken. What it answers may not send the client away, act on the gateway's own origin,
// split the answer, or take the gateway down.
import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { after, afterEach, before, test } from 'node:test';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import type { Http2Answer } from '../site/http2-client.ts';
import { startHttp2Member } from '../../routing/http2/http2-member.fixture.ts';
import { answerEcho } from '../site/member.ts';
import type { MemberRequest } from '../site/member.ts';
import { exchange, openRaw, requestBytes } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

const prefix = '/clusters/m1/proxy';
const pods = `${prefix}/api/v1/pods`;
const service = `${prefix}/api/v1/namespaces/default/services/web/proxy`;
const alice = 'Authorization: Bearer alice-token';
let site: Site;
let session: ClientHttp2Session;

before(async () => {
  site = await startSite({ members: 2, users: [{ token: 'alice-token', name: 'alice' }] });
  session = await openHttp2(site);
});
after(() => {
  session.destroy();
  site.close();
});
afterEach(() => {
  for (const member of site.members) {
    member.requests.splice(0);
    member.answer = answerEcho;
  }
});

/** What the first member writes, to the letter. */
function answerBytes(text: string): void {
  site.members[0]!.answer = ({ socket }) => void socket.write(text, 'latin1');
}

/** Asks over both protocols. */
async function bothAnswers(path: string, method = 'GET'): Promise<(RawAnswer | Http2Answer)[]> {
  const body = method === 'GET' ? '' : 'x';
  const lines = body === '' ? [] : ['Content-Length: 1'];
  const one = await exchange(site, requestBytes(`${method} ${path}`, [alice, ...lines], body));
  const list = http2Headers(method, path, ['authorization', 'Bearer alice-token']);
  return [one, await http2Exchange(session, list, body === '' ? undefined : body)];
}

function assertRefused(answer: RawAnswer | Http2Answer): void {
  assert.equal(answer.status, 502);
  assert.equal((JSON.parse(answer.body) as { kind: string }).kind, 'Status');
  assert.match(answer.values('warning')[0]!, /^299 - "cluster m1: /);
  assert.deepEqual(answer.values('location'), []);
}

for (const status of [300, 301, 302, 303, 304, 307, 308]) {
  test(`a redirect (${status}) is 502 for every method; it is not followed and not told (ATT-11)`, async () => {
    const [first, second] = site.members;
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const location of [
        `https://127.0.0.1:${second!.port}/steal`,
        '/api/v1/secrets',
        '//evil.test/',
        'secrets',
      ]) {
        first!.answer = (request) => request.reply(status, [`Location: ${location}`], '');
        for (const answer of await bothAnswers(pods, method)) assertRefused(answer);
      }
    }
    assert.equal(first!.requests.length, 5 * 4 * 2, 'every method, every Location, both protocols');
    assert.equal(second!.requests.length, 0);
  });
}

test('304 without Location is 304 (ATT-11)', async () => {
  site.members[0]!.answer = ({ socket }) => void socket.write('HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n');
  for (const answer of await bothAnswers(pods)) {
    assert.equal(answer.status, 304);
    assert.deepEqual(answer.values('etag'), ['"x"']);
  }
});

test('an application behind services/proxy may redirect below itself, and nowhere else (ATT-11)', async () => {
  const [first, second] = site.members;
  const below = '/api/v1/namespaces/default/services/web/proxy';
  for (const [location, arrives] of [
    [`${below}/login`, `${service}/login`],
    [`https://127.0.0.1:${first!.port}${below}/a?b=c#d`, `${service}/a?b=c#d`],
    ['login?x=1', 'login?x=1'],
    [`https://127.0.0.1:${second!.port}${below}/login`, undefined],
    [`http://127.0.0.1:${first!.port}${below}/login`, undefined],
    [`https://user@127.0.0.1:${first!.port}${below}/login`, undefined],
    [`https://127.0.0.1:${first!.port}@evil.test/`, undefined],
    [`https:\\\\evil.test/`, undefined],
    ['https:evil.test/', undefined],
    ['//evil.test/', undefined],
    ['/\\evil.test/', undefined],
    ['\\\\evil.test/', undefined],
    ['javascript:alert(1)', undefined],
    ['/../../../../clusters/m2/proxy/', undefined],
    ['../../../../../../../m2/proxy/', undefined],
    [`${below}/%2e%2e/x`, undefined],
    [`${below}/a\tb`, undefined],
  ] as const) {
    first!.answer = (request) => request.reply(302, [`Location: ${location}`]);
    for (const answer of await bothAnswers(`${service}/`)) {
      if (arrives === undefined) assertRefused(answer);
      else {
        assert.equal(answer.status, 302, location);
        assert.deepEqual(answer.values('location'), [arrives]);
      }
    }
  }
  first!.answer = (request) => request.reply(302, [`Location: ${below}/a`, 'Location: https://evil.test/'], '');
  for (const answer of await bothAnswers(`${service}/`)) assert.doesNotMatch(answer.values('location').join(), /evil/);
});

test('headers that act on the gateway’s origin or connection are not passed on', async () => {
  site.members[0]!.answer = (request: MemberRequest) =>
    request.reply(
      200,
      [
        'Content-Type: application/json',
        'Set-Cookie: session=evil',
        'Set-Cookie2: evil',
        'Access-Control-Allow-Origin: *',
        'Access-Control-Allow-Credentials: true',
        'Strict-Transport-Security: max-age=1',
        'Alt-Svc: h2="evil.test:443"',
        'Clear-Site-Data: "*"',
        'Public-Key-Pins: x',
        'WWW-Authenticate: Basic',
        'Proxy-Authenticate: Basic',
        'Keep-Alive: timeout=1',
        'Proxy-Connection: close',
        'HTTP2-Settings: AAMAAABk',
        'TE: trailers',
        'Trailer: X-Late',
        'Upgrade: h2c',
        'X-Hop: 1',
        'Connection: X-Hop, Content-Type-Options',
        'Audit-Id: evil',
        'X-Kept: yes',
      ],
      '{}',
    );
  for (const answer of await bothAnswers(pods)) {
    assert.equal(answer.status, 200, answer.body);
    assert.equal(answer.body, '{}');
    assert.deepEqual(answer.values('x-kept'), ['yes']);
    assert.equal(answer.values('audit-id').length, 1);
    assert.notEqual(answer.values('audit-id')[0], 'evil');
    for (const name of [
      'set-cookie',
      'set-cookie2',
      'access-control-allow-origin',
      'access-control-allow-credentials',
      'strict-transport-security',
      'alt-svc',
      'clear-site-data',
      'public-key-pins',
      'www-authenticate',
      'proxy-authenticate',
      'proxy-connection',
      'http2-settings',
      'te',
      'trailer',
      'upgrade',
      'x-hop',
    ]) {
      assert.deepEqual(answer.values(name), [], name);
    }
  }
});

test('a Connection header that names Content-Length or Content-Type cuts nothing', async () => {
  answerBytes('HTTP/1.1 200 OK\r\nConnection: close, Content-Length\r\nContent-Length: 5\r\n\r\nhello');
  for (const answer of await bothAnswers(pods)) {
    assert.equal(answer.body, 'hello');
    assert.equal(answer.complete, true);
  }
});

test('headers that come twice pass over both protocols', async () => {
  const lines = [
    'X-Content-Type-Options',
    'Content-Type',
    'ETag',
    'Date',
    'Last-Modified',
    'Content-Language',
    'Age',
    'Vary',
  ];
  site.members[0]!.answer = (request) =>
    request.reply(
      200,
      lines.flatMap((name) => [`${name}: one`, `${name}: two`]),
      'ok',
    );
  for (const answer of await bothAnswers(pods)) {
    assert.equal(answer.status, 200, answer.body);
    assert.equal(answer.body, 'ok');
    for (const name of lines) assert.equal(answer.values(name.toLowerCase())[0], 'one');
  }
});

test('header values arrive byte for byte', async () => {
  const value = 'Gr\xc3\xbc\xc3\x9fe \xe6\x97\xa5 "quoted\\" \t end\xff';
  answerBytes(`HTTP/1.1 200 OK\r\nX-Bytes: ${value}\r\nWarning: 299 - "${value}"\r\nContent-Length: 2\r\n\r\nok`);
  for (const answer of await bothAnswers(pods)) {
    assert.deepEqual(answer.values('x-bytes'), [value]);
    assert.deepEqual(answer.values('warning'), [`299 - "${value}"`]);
  }
});

test('a header of 100 KiB arrives whole or is refused', async () => {
  const long = 'a'.repeat(100_000);
  answerBytes(`HTTP/1.1 200 OK\r\nX-Long: ${long}\r\nContent-Length: 2\r\n\r\nok`);
  for (const answer of await bothAnswers(pods)) {
    if (answer.status === 200) assert.deepEqual(answer.values('x-long'), [long]);
    else assertRefused(answer);
  }
});

const ok = 'Content-Length: 2\r\n\r\nok';
for (const [name, bytes] of Object.entries({
  'Content-Length and Transfer-Encoding': `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${ok}`,
  'two different Content-Length': `HTTP/1.1 200 OK\r\nContent-Length: 3\r\n${ok}`,
  'a signed Content-Length': 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok',
  'another transfer coding': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  'a bare LF': `HTTP/1.1 200 OK\nX: y\r\n${ok}`,
  'a bare CR': `HTTP/1.1 200 OK\r\nX: y\rSet-Cookie: z\r\n${ok}`,
  'a folded header': `HTTP/1.1 200 OK\r\nX: y\r\n z\r\n${ok}`,
  'a blank before the colon': `HTTP/1.1 200 OK\r\nX : y\r\n${ok}`,
  'NUL in a header': `HTTP/1.1 200 OK\r\nX: \x00\r\n${ok}`,
  'status 99': `HTTP/1.1 099 X\r\n${ok}`,
  'status 600': `HTTP/1.1 600 X\r\n${ok}`,
  'status 1000': `HTTP/1.1 1000 X\r\n${ok}`,
  'no status': `HTTP/1.1 \r\n${ok}`,
  'another version': `HTTP/3.0 200 OK\r\n${ok}`,
  'another protocol': 'SSH-2.0-OpenSSH_9.0\r\n\r\n',
  'nothing but interim answers': 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000),
  'a head over 1 MiB': `HTTP/1.1 200 OK\r\n${`X: ${'y'.repeat(1000)}\r\n`.repeat(1100)}${ok}`,
})) {
  test(`an answer with ${name} is 502 over both protocols, and the next request is answered`, async () => {
    answerBytes(bytes);
    for (const answer of await bothAnswers(pods)) assertRefused(answer);
    site.members[0]!.answer = answerEcho;
    for (const answer of await bothAnswers(pods)) assert.equal(answer.status, 200);
  });
}

test('bytes behind an answer never become the answer to somebody else', async () => {
  const poisoned = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned';
  answerBytes(`HTTP/1.1 200 OK\r\n${ok}${poisoned}`);
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${pods}`, [alice]));
  assert.equal((await client.answer()).body, 'ok');
  site.members[0]!.answer = answerEcho;
  for (let i = 0; i < 3; i++) {
    client.send(requestBytes(`GET ${pods}?${i}`, [alice]));
    assert.match((await client.answer()).body, new RegExp(`\\?${i}"`));
  }
  client.close();
});

test('a body that looks like an answer stays a body', async () => {
  const body = `HTTP/1.1 200 OK\r\n${ok}`;
  answerBytes(
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  );
  for (const answer of await bothAnswers(pods)) {
    assert.equal(answer.body, body);
    assert.equal(answer.complete, true);
  }
});

test('trailers of a member are not passed on', async () => {
  answerBytes(
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Set-Cookie\r\n\r\n2\r\nok\r\n0\r\nSet-Cookie: x\r\n\r\n',
  );
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${pods}`, [alice]));
  assert.equal((await client.answer()).body, 'ok');
  assert.equal(client.rest(), '');
  client.close();
});

test('a header the caller repeats does not make a watch over HTTP/2 open connections without end', async () => {
  const member = await startHttp2Member(await site.authority.issue(['ip:127.0.0.1']), (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    stream.end('{}\n');
  });
  const watched = await startSite({
    users: [{ token: 'alice-token', name: 'alice' }],
    contexts: () => [
      { name: 'h2', server: `https://127.0.0.1:${member.port}`, ca: site.authority.ca, token: 'member-credential' },
    ],
  });
  try {
    const names = ['User-Agent', 'Content-Type', 'If-None-Match', 'If-Match', 'Range', 'Content-Encoding'];
    for (const name of names) {
      const lines = [alice, `${name}: first`, `${name.toLowerCase()}: second`];
      const answer = await exchange(watched, requestBytes('GET /clusters/h2/proxy/api/v1/pods?watch=true', lines));
      assert.equal(answer.status, 200);
      const raw = member.requests.at(-1)!;
      assert.deepEqual(
        raw.filter((_, i) => raw[i - 1] === name.toLowerCase()),
        ['first'],
      );
    }
    assert.equal(member.sessions.length, 1);
  } finally {
    watched.close();
    await member.close();
  }
});
