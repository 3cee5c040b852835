// An upgrade hands the client a connection that is authenticated as the gateway, so it happens only after the member's
// 101 to exactly what was asked, and nothing of the client arrives before.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';
import type { MemberRequest } from '../../site/member.ts';
import { answerEcho } from '../../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../../site/raw-client.ts';
import { startSite } from '../../site/site.ts';
import { waitFor } from '../../site/polling.ts';
import type { Site } from '../../site/site.ts';

const api = '/clusters/m1/proxy/api/v1';
const pod = `${api}/namespaces/default/pods/web`;
const exec = `${pod}/exec?command=sh`;
const alice = 'Authorization: Bearer alice-token';
const bob = 'Authorization: Bearer bob-token';
const tokens = ['websocket', 'SPDY/3.1'];
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
afterEach(() => {
  const [member] = site.members;
  member!.requests.splice(0);
  member!.answer = answerEcho;
});

const smuggled = `GET /api/v1/namespaces/kube-system/secrets HTTP/1.1\r\nHost: member\r\n\r\n`;

/** The member's script for upgrades; other requests are echoed. */
function answerUpgrades(script: (request: MemberRequest) => void): void {
  site.members[0]!.answer = (request) => {
    if (request.values('upgrade').length === 0) answerEcho(request);
    else script(request);
  };
}

function switching(token: string, more: readonly string[] = []): string {
  return ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${token}`, ...more, '', ''].join('\r\n');
}

for (const token of tokens) {
  for (const status of [400, 403, 404, 500, 503]) {
    test(`${token} answered ${status}: relayed, both connections closed, what follows goes nowhere (ATT-07)`, async () => {
      answerUpgrades((request) => {
        // Like the server of CVE-2018-1002105, this one would serve on after its refusal.
        request.reply(status, ['Content-Type: text/plain', 'Connection: keep-alive'], 'no');
      });
      const client = await openRaw(site);
      client.send(requestBytes(`POST ${exec}`, [alice, 'Content-Length: 0', ...upgradeLines(token)]) + smuggled);
      const answer = await client.answer();
      assert.equal(answer.status, status);
      assert.equal(answer.body, 'no');
      assert.deepEqual(answer.values('connection'), ['close']);
      client.send(smuggled);
      await client.closed;
      const [request] = site.members[0]!.requests;
      if (!request!.socket.destroyed) await new Promise((resolve) => request!.socket.once('close', resolve));
      assert.equal(site.upstream(), 1);
      assert.equal(request!.received().toString('latin1'), '');
      assert.ok(!site.members[0]!.bytes.some((bytes) => bytes.includes('kube-system')));
      assert.equal(client.rest(), '');
    });
  }

  for (const status of [200, 201, 204, 301, 302, 304, 307, 308]) {
    test(`${token} answered ${status} is 502; nothing is followed (ATT-08)`, async () => {
      answerUpgrades((request) => request.reply(status, [`Location: https://127.0.0.1:${site.members[0]!.port}/evil`]));
      const client = await openRaw(site);
      client.send(requestBytes(`GET ${exec}`, [alice, ...upgradeLines(token)]) + smuggled);
      const answer = await client.answer();
      assert.equal(answer.status, 502);
      assert.deepEqual(answer.values('location'), []);
      await client.closed;
      assert.equal(site.upstream(), 1);
    });
  }
}

for (const token of tokens) {
  for (const [name, piece] of Object.entries({ 'never goes on': '', 'never ends': 'x'.repeat(64 * 1024) })) {
    // What a client waits for at most; the status says everything, so nobody has to see how the body goes on.
    test(
      `${token} answered 200 with a body that ${name} is 502, and the member is let go (ATT-53)`,
      { timeout: 8_000 },
      async () => {
        answerUpgrades(({ socket }) => {
          const goOn = (): void => {
            while (!socket.destroyed && socket.write(piece));
          };
          socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nx');
          if (piece === '') return;
          socket.on('drain', goOn);
          goOn();
        });
        const client = await openRaw(site);
        client.send(requestBytes(`GET ${exec}`, [alice, ...upgradeLines(token)]) + smuggled);
        const answer = await client.answer();
        assert.equal(answer.status, 502);
        assert.match(answer.body, /"kind":"Status".*answered an upgrade request with 200/);
        await client.closed;
        const [request] = site.members[0]!.requests;
        await waitFor(() => request!.socket.destroyed || request!.socket.readableEnded);
        assert.equal(request!.received().toString('latin1'), '');
      },
    );
  }

  test(`${token} answered 403 with a body that never ends is that 403, cut (ATT-53)`, async () => {
    answerUpgrades(({ socket }) => {
      const goOn = (): void => {
        while (!socket.destroyed && socket.write('no'.repeat(32 * 1024)));
      };
      socket.write('HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n\r\n');
      socket.on('drain', goOn);
      goOn();
    });
    const answer = await exchange(site, requestBytes(`GET ${exec}`, [alice, ...upgradeLines(token)]));
    assert.equal(answer.status, 403);
    assert.match(answer.body, /^(?:no)+$/);
    const [request] = site.members[0]!.requests;
    await waitFor(() => request!.socket.destroyed || request!.socket.readableEnded);
  });
}

for (const [name, answer] of Object.entries({
  'another protocol': switching('h2c'),
  'the other known protocol': switching('SPDY/3.1'),
  'two protocols': switching('websocket, h2c'),
  'two Upgrade headers': switching('websocket', ['Upgrade: h2c']),
  'no Upgrade header': 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\n\r\n',
  'no Connection header': 'HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n',
  'a look-alike Connection': 'HTTP/1.1 101 X\r\nConnection: xupgrade\r\nUpgrade: websocket\r\n\r\n',
})) {
  test(`a 101 that names ${name} is 502 (ATT-08)`, async () => {
    answerUpgrades(({ socket }) => void socket.write(answer));
    const client = await openRaw(site);
    client.send(requestBytes(`GET ${exec}`, [alice, ...upgradeLines('websocket')]) + smuggled);
    assert.equal((await client.answer()).status, 502);
    await client.closed;
    assert.ok(!site.members[0]!.bytes.some((bytes) => bytes.includes('kube-system')));
  });
}

test('an unsolicited 101 to a plain request is 502 and its connection is not used again (ATT-08)', async () => {
  const [member] = site.members;
  member!.answer = ({ socket }) => void socket.write(switching('websocket'));
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${api}/pods`, [alice]));
  const answer = await client.answer();
  assert.equal(answer.status, 502);
  assert.match(answer.values('warning')[0]!, /^299 - "cluster m1: /);
  member!.answer = answerEcho;
  client.send(requestBytes(`GET ${api}/pods`, [bob]));
  assert.equal((await client.answer()).status, 200);
  const [first, second] = member!.requests;
  assert.notEqual(second!.connection, first!.connection);
  client.close();
});

test('interim answers in front of a refusal or of a 101 are not taken for it (ATT-08)', async () => {
  answerUpgrades(
    ({ socket }) => void socket.write(`HTTP/1.1 103 Early\r\nUpgrade: websocket\r\n\r\n${switching('websocket')}hi`),
  );
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${exec}`, [alice, ...upgradeLines('websocket')]));
  assert.equal((await client.answer()).status, 101);
  assert.match(await client.restMatches(/hi/), /^hi$/);
  client.close();
});

for (const token of tokens) {
  test(`after a refused upgrade to ${token}, another user's request uses another connection (ATT-09)`, async () => {
    answerUpgrades((request) => request.reply(403, ['Connection: keep-alive'], 'no'));
    assert.equal((await exchange(site, requestBytes(`POST ${exec}`, [alice, ...upgradeLines(token)]))).status, 403);
    for (let i = 0; i < 3; i++)
      assert.equal((await exchange(site, requestBytes(`GET ${api}/pods`, [bob]))).status, 200);
    const [refused, ...others] = site.members[0]!.requests;
    assert.deepEqual(refused!.values('impersonate-user'), ['alice']);
    for (const { connection, values } of others) {
      assert.notEqual(connection, refused!.connection);
      assert.deepEqual(values('impersonate-user'), ['bob']);
    }
  });
}

test('a connection that was upgraded serves nobody else when it is over (ATT-09)', async () => {
  answerUpgrades(({ socket }) => void socket.write(switching('SPDY/3.1')));
  const client = await openRaw(site);
  client.send(requestBytes(`POST ${exec}`, [alice, ...upgradeLines('SPDY/3.1')]));
  assert.equal((await client.answer()).status, 101);
  client.close();
  assert.equal((await exchange(site, requestBytes(`GET ${api}/pods`, [bob]))).status, 200);
  const [upgraded, other] = site.members[0]!.requests;
  assert.notEqual(other!.connection, upgraded!.connection);
});

for (const token of tokens) {
  test(`bytes behind a request for ${token} wait for the 101 and then arrive in order (ATT-10)`, async () => {
    const asked = Promise.withResolvers<MemberRequest>();
    answerUpgrades((request) => asked.resolve(request));
    const client = await openRaw(site);
    client.send(`${requestBytes(`POST ${exec}`, [alice, ...upgradeLines(token)])}early,`);
    const request = await asked.promise;
    client.send('more,');
    // A request that travels the whole way and back: whatever could have overtaken it has by now.
    await exchange(site, requestBytes(`GET ${api}/pods`, [bob]));
    assert.equal(request.received().toString('latin1'), '');
    request.socket.write(`${switching(token)}first,`);
    assert.equal((await client.answer()).status, 101);
    client.send('late');
    while (request.received().length < 15) await new Promise((resolve) => request.socket.once('data', resolve));
    assert.equal(request.received().toString('latin1'), 'early,more,late');
    request.socket.write('second');
    assert.equal(await client.restMatches(/second/), 'first,second');
    client.close();
  });
}

test('much more than is held waits in the sockets, and arrives whole behind the 101 (ATT-10)', async () => {
  const asked = Promise.withResolvers<MemberRequest>();
  answerUpgrades((request) => asked.resolve(request));
  const client = await openRaw(site);
  client.send(requestBytes(`POST ${exec}`, [alice, ...upgradeLines('SPDY/3.1')]));
  const bytes = randomBytes(3 * 1024 * 1024);
  client.send(bytes);
  const request = await asked.promise;
  await exchange(site, requestBytes(`GET ${api}/pods`, [bob]));
  assert.equal(request.received().length, 0);
  request.socket.write(switching('SPDY/3.1'));
  assert.equal((await client.answer()).status, 101);
  await waitFor(() => request.received().length >= bytes.length);
  assert.ok(request.received().equals(bytes));
  client.close();
});

for (const way of ['end', 'destroy'] as const) {
  test(`a client that goes away (${way}) before the member answered its upgrade is missed there`, async () => {
    const asked = Promise.withResolvers<MemberRequest>();
    answerUpgrades((request) => asked.resolve(request));
    const client = await openRaw(site);
    client.send(requestBytes(`POST ${exec}`, [alice, ...upgradeLines('SPDY/3.1')]));
    const { socket } = await asked.promise;
    client.socket[way]();
    await waitFor(() => socket.destroyed || socket.readableEnded);
  });
}

test('a body with an upgrade never arrives as a body (ATT-10)', async () => {
  for (const framing of ['Content-Length: 39', 'Transfer-Encoding: chunked']) {
    const asked = Promise.withResolvers<MemberRequest>();
    answerUpgrades((request) => asked.resolve(request));
    const client = await openRaw(site);
    client.send(`${requestBytes(`POST ${exec}`, [alice, framing, ...upgradeLines('SPDY/3.1')])}${smuggled}`);
    const outcome = await Promise.race([asked.promise, client.answer()]);
    if ('received' in outcome) {
      await exchange(site, requestBytes(`GET ${api}/pods`, [bob]));
      assert.equal(outcome.received().toString('latin1'), '');
      assert.doesNotMatch(outcome.head, /transfer-encoding|content-length: [1-9]/i);
      outcome.reply(403);
      await client.closed;
      assert.equal(outcome.received().toString('latin1'), '');
    } else assert.equal(outcome.status, 400);
    client.close();
  }
});

for (const [name, lines] of Object.entries({
  h2c: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'],
  'TLS/1.2': ['Connection: Upgrade', 'Upgrade: TLS/1.2'],
  'an unknown protocol': ['Connection: Upgrade', 'Upgrade: foo'],
  'a list': ['Connection: Upgrade', 'Upgrade: websocket, h2c'],
  'two headers': ['Connection: Upgrade', 'Upgrade: websocket', 'Upgrade: h2c'],
  'the same one twice': ['Connection: Upgrade', 'Upgrade: websocket', 'Upgrade: websocket'],
  'SPDY/2': ['Connection: Upgrade', 'Upgrade: SPDY/2'],
  'SPDY/3.1 with more behind it': ['Connection: Upgrade', 'Upgrade: SPDY/3.1.1'],
  'websocket with a version': ['Connection: Upgrade', 'Upgrade: websocket/13'],
  nothing: ['Connection: Upgrade', 'Upgrade:'],
})) {
  test(`an offer to upgrade to ${name} is ignored: an ordinary request, and none of the offer goes upstream (ATT-10)`, async () => {
    const handshake = upgradeLines('websocket').slice(2);
    for (const line of [`GET ${exec}`, `GET ${pod}`, `POST ${api}/namespaces/default/pods`, `PATCH ${pod}`]) {
      const body = line.startsWith('GET') ? '' : '{}';
      const framing = body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`];
      const answer = await exchange(site, requestBytes(line, [alice, ...lines, ...handshake, ...framing], body));
      assert.equal(answer.status, 200, line);
      const [request, more] = site.members[0]!.requests.splice(0);
      assert.equal(more, undefined);
      for (const name of ['connection', 'upgrade', 'http2-settings', 'sec-websocket-key', 'sec-websocket-protocol'])
        assert.deepEqual(request!.values(name), [], `${line} ${name}`);
    }
  });
}

test('behind an offer with a served protocol in a list nothing is read; behind another the next request is (ATT-10)', async () => {
  const next = requestBytes(`GET ${pod}`, [bob]);
  for (const [offer, isLast] of [
    ['h2c, websocket', true],
    ['SPDY/3.1, websocket', true],
    ['TLS/1.2', false],
    ['h2c', false],
  ] as const) {
    const client = await openRaw(site);
    client.send(requestBytes(`GET ${pod}`, [alice, 'Connection: Upgrade', `Upgrade: ${offer}`]) + next);
    const answer = await client.answer();
    assert.deepEqual([answer.status, answer.values('connection').includes('close')], [200, isLast], offer);
    if (isLast) await client.closed;
    else assert.equal((await client.answer()).status, 200);
    client.close();
    assert.equal(site.members[0]!.requests.splice(0).length, isLast ? 1 : 2, offer);
  }
});

test('an Upgrade that the Connection header does not name upgrades nothing', async () => {
  for (const lines of [
    ...['xupgradey', 'upgrade-insecure-requests', 'keep-alive'].map((connection) => [
      alice,
      `Connection: ${connection}`,
      ...upgradeLines('websocket').slice(1),
    ]),
    [alice, 'Connection: Upgrade', 'Upgrade: '],
  ]) {
    const answer = await exchange(site, requestBytes(`GET ${exec}`, lines));
    assert.notEqual(answer.status, 101);
    for (const request of site.members[0]!.requests.splice(0)) {
      assert.deepEqual(request.values('upgrade'), []);
      assert.deepEqual(request.values('connection'), []);
    }
  }
});

test('upgrades are served by GET and POST on the streaming subresources and watches only', async () => {
  const upgrade = upgradeLines('websocket');
  for (const line of [
    ...['PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'].map((method) => `${method} ${exec}`),
    `GET ${api}/pods`,
    `GET ${api}/pods?watch=false`,
    `GET ${pod}`,
    `GET ${pod}/status`,
    `GET ${pod}/execute`,
    `POST ${api}/namespaces/default/pods`,
    'GET /clusters/m1/proxy/healthz',
    'GET /clusters/m1/proxy/exec',
    'GET /clusters/m1/proxy',
    'GET /version',
    'GET /readyz',
    'GET /apis/gateway.portcullis.io/v1alpha1/clusters',
    'GET /nowhere',
  ]) {
    const answer = await exchange(site, requestBytes(line, [alice, ...upgrade]));
    assert.ok(answer.status === 400 || answer.status === 404, `${line} answered ${answer.status}`);
    assert.equal(site.upstream(), 0);
  }
  for (const line of [
    ...['exec', 'attach', 'portforward', 'log', 'proxy', 'proxy/ws'].map((name) => `GET ${pod}/${name}`),
    `GET ${api}/pods?watch=true`,
    `GET ${api}/watch/pods`,
    `GET ${api}/nodes/n1/proxy/exec`,
    `POST ${api}/namespaces/default/services/web/proxy/socket`,
  ]) {
    answerUpgrades(({ socket }) => void socket.write(switching('websocket')));
    const client = await openRaw(site);
    client.send(requestBytes(line, [alice, ...upgrade]));
    assert.equal((await client.answer()).status, 101, line);
    client.close();
  }
});
