// Attacks on paths, framing and upgrades through a real hub and its aggregator, and directly; a raw member says what
// arrived. What Go's server refuses never reaches us, so beside each status stands what the member saw.
// Landing tier: nobody but the hub speaks for its users.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { answerEcho } from '../../site/member.ts';
import type { MemberRequest } from '../../site/member.ts';
import { requestBytes, upgradeLines } from '../../site/raw-client.ts';
import { clusterPath } from '../../hub/site.ts';
import { answerAll, bearer, exec, identityOf, pods, rawPath, startAttackSite, ways } from './attack-site.ts';
import type { AttackSite } from './attack-site.ts';
import { eventually } from '../../site/polling.ts';

const tokens = ['websocket', 'SPDY/3.1'] as const;
let attack: AttackSite;
let alice: string;
let carol: string;

before(async () => {
  attack = await startAttackSite();
  alice = bearer(attack.site);
  carol = bearer(attack.site, 'carol');
});
after(() => attack?.stop());
afterEach(() => {
  attack.raw.answer = answerAll;
  attack.taken();
});

/** The member's script for upgrades; other requests are echoed. */
function answerUpgrades(script: (request: MemberRequest) => void): void {
  attack.raw.answer = (request) => (request.values('upgrade').length === 0 ? answerEcho(request) : script(request));
}

const smuggled = 'GET /api/v1/namespaces/kube-system/secrets HTTP/1.1\r\nHost: member\r\n\r\n';

for (const way of ways) {
  for (const token of tokens) {
    test(`${token} answered 403: relayed and closed, what follows goes nowhere, the next user gets another connection (${way}) (ATT-07, ATT-09)`, async () => {
      answerUpgrades((request) => request.reply(403, ['Content-Type: text/plain', 'Connection: keep-alive'], 'no'));
      const client = await attack.open(way);
      client.send(requestBytes(`POST ${exec}`, [alice, 'Content-Length: 0', ...upgradeLines(token)]) + smuggled);
      assert.equal((await client.answer()).status, 403);
      client.send(smuggled);
      await client.closed;
      const next = await attack.ask(way, requestBytes(`GET ${pods}`, [carol]));
      assert.equal(next.status, 200);
      const [refused, other, ...more] = attack.taken();
      assert.equal(more.length, 0);
      assert.deepEqual(
        [refused!.values('impersonate-user'), other!.values('impersonate-user')],
        [['alice'], ['carol']],
      );
      assert.notEqual(other!.connection, refused!.connection);
      assert.ok(!attack.raw.bytes.some((bytes) => bytes.includes('kube-system')));
    });

    test(`${token} answered 200, 30x or with another 101 is 502, nothing is followed (${way}) (ATT-08)`, async () => {
      for (const status of [200, 301, 302, 307]) {
        answerUpgrades((request) => request.reply(status, [`Location: https://127.0.0.1:${attack.raw.port}/evil`]));
        const answer = await attack.ask(way, requestBytes(`GET ${exec}`, [alice, ...upgradeLines(token)]));
        assert.deepEqual([answer.status, answer.values('location')], [502, []], String(status));
        assert.equal(attack.taken().length, 1);
      }
      answerUpgrades(
        ({ socket }) => void socket.write('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'),
      );
      const answer = await attack.ask(way, requestBytes(`GET ${exec}`, [alice, ...upgradeLines(token)]));
      assert.equal(answer.status, 502);
    });

    test(`bytes behind a request for ${token} arrive behind its 101 and not before (${way}) (ATT-10)`, async () => {
      const asked = Promise.withResolvers<MemberRequest>();
      answerUpgrades((request) => asked.resolve(request));
      const client = await attack.open(way);
      client.send(`${requestBytes(`POST ${exec}`, [alice, ...upgradeLines(token)])}early,`);
      const request = await asked.promise;
      client.send('more,');
      await attack.ask(way, requestBytes(`GET ${pods}`, [carol]));
      assert.equal(request.received().toString('latin1'), '');
      request.socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${token}\r\n\r\nfirst,`,
      );
      assert.equal((await client.answer()).status, 101);
      client.send('late');
      await eventually('all of it', () => request.received().toString('latin1').endsWith('late'));
      const received = request.received().toString('latin1');
      // Go's server drops what it has read of a client whose connection it then hands over.
      if (way === 'hub') assert.ok('early,more,late'.endsWith(received), received);
      else assert.equal(received, 'early,more,late');
      assert.equal(await client.restMatches(/first,/), 'first,');
      client.close();
    });
  }

  test(`a redirect of a member is 502 for every method, not followed and not told (${way}) (ATT-11)`, async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      attack.raw.answer = (request) => request.reply(status, [`Location: https://127.0.0.1:${attack.raw.port}/evil`]);
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const answer = await attack.ask(way, requestBytes(`${method} ${pods}`, [alice, 'Content-Length: 0']));
        assert.deepEqual([answer.status, answer.values('location')], [502, []], `${method} ${status}`);
      }
      assert.equal(attack.taken().length, 5);
    }
  });

  test(`dot segments never leave the cluster or its base path (${way}) (ATT-12)`, async () => {
    for (const dots of [
      '/..',
      '/../',
      '/../../based/proxy/api',
      '/./api',
      '/%2e%2e/based',
      '/.%2e/x',
      '/%252e%252e/x',
      '/..%2f..%2fbased/proxy',
      '/..%5c..%5cx',
      '/..\\..\\x',
      '/..;/x',
      '/%2e%2e%3bx/y',
    ]) {
      for (const cluster of ['raw', 'based']) {
        const lines = [[alice], [alice, ...upgradeLines('websocket')]];
        for (const headers of lines) {
          const answer = await attack.ask(way, requestBytes(`GET ${clusterPath(cluster)}${dots}`, headers));
          assert.equal(answer.status, 400, `${cluster}${dots}: ${answer.status}`);
        }
      }
    }
    assert.equal(attack.taken().length, 0);
  });

  test(`a path that can be read in two ways is refused, or the member is asked what was authorized (${way}) (ATT-13)`, async () => {
    for (const path of [
      '/api/v1/namespaces/a%00b/pods',
      '/api/v1/namespaces/a%5Cb/pods',
      '/api/v1/namespaces/a%0d%0ab/pods',
      '/api/v1/namespaces/a%252fb/pods',
      '/api/v1/namespaces/a%zzb/pods',
      '/api//v1/secrets',
      '//api/v1/secrets',
      '/api/v1\\pods',
      '//',
    ]) {
      const answer = await attack.ask(way, requestBytes(`GET ${rawPath}${path}`, [alice]));
      assert.equal(answer.status, 400, `${path}: ${answer.status}`);
    }
    assert.equal(attack.taken().length, 0);
    const slash = await attack.ask(way, requestBytes(`GET ${rawPath}/api/v1/namespaces/a%2Fb/pods`, [alice]));
    const [seen] = attack.taken();
    // The aggregator decodes a path before anybody of us sees it: then a/b is what is authorized, and what is sent.
    if (way === 'hub') assert.deepEqual([slash.status, seen?.target], [200, '/api/v1/namespaces/a/b/pods']);
    else assert.deepEqual([slash.status, seen], [400, undefined]);
  });

  test(`absolute targets, CONNECT and Host lead nowhere else (${way}) (ATT-14)`, async () => {
    for (const line of [
      `GET http://evil.test${pods}`,
      `GET https://127.0.0.1:${attack.raw.port}${pods}`,
      `GET ${rawPath}@evil.test/api`,
      `GET @evil.test${pods}`,
    ]) {
      const { status } = await attack.ask(way, requestBytes(line, [alice]));
      for (const { target, values } of attack.taken()) {
        assert.deepEqual(
          [target.startsWith('/api/v1/'), values('host')],
          [true, [`127.0.0.1:${attack.raw.port}`]],
          line,
        );
      }
      if (way === 'direct') assert.ok(status === 400 || status === 404, `${line}: ${status}`);
    }
    const connect = await attack.ask(way, requestBytes(`CONNECT 127.0.0.1:${attack.raw.port}`, [alice]));
    assert.ok(connect.status >= 400, String(connect.status));
    const hosts = [`GET ${pods} HTTP/1.1`, 'Host: a', 'Host: b', alice, '', ''].join('\r\n');
    assert.equal((await attack.ask(way, hosts)).status, 400);
    assert.equal(attack.taken().length, 0);
    await attack.ask(way, [`GET ${pods} HTTP/1.1`, 'Host: evil.test', alice, '', ''].join('\r\n'));
    assert.deepEqual(attack.taken()[0]?.values('host'), [`127.0.0.1:${attack.raw.port}`]);
  });

  test(`a request two servers could frame differently becomes one request or none (${way}) (ATT-33)`, async () => {
    for (const framing of [
      ['Transfer-Encoding: xchunked'],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
      ['Transfer-Encoding: chunked, identity'],
      ['Content-Length: 4', 'Content-Length: 5'],
      ['Content-Length: +5'],
      ['Content-Length: 0x5'],
      ['Content-Length: 4', 'Transfer-Encoding: chunked'],
      ['Content-Length : 4'],
      ['Transfer-Encoding : chunked'],
      ['Transfer-Encoding:\x0bchunked'],
    ]) {
      const client = await attack.open(way);
      client.send(`${requestBytes(`POST ${pods}`, [alice, ...framing])}0\r\n\r\n${smuggled}`);
      await client.answer().catch(() => undefined);
      client.close();
      const seen = attack.taken();
      assert.ok(seen.length <= 1, framing.join());
      assert.ok(!attack.raw.bytes.some((bytes) => bytes.includes('kube-system')), framing.join());
    }
  });

  test(`a token among the WebSocket subprotocols logs in, goes no further and is not echoed (${way}) (ATT-38)`, async () => {
    const { token } = attack.site.hub.users.alice;
    const item = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
    const lines = upgradeLines('websocket').filter((line) => !line.startsWith('Sec-WebSocket-Protocol'));
    answerUpgrades(({ socket }) => {
      socket.write(
        'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n',
      );
    });
    const client = await attack.open(way);
    client.send(requestBytes(`GET ${exec}`, [...lines, `Sec-WebSocket-Protocol: ${item}, v5.channel.k8s.io`]));
    const answer = await client.answer();
    assert.equal(answer.status, 101);
    assert.doesNotMatch(answer.head, /base64url/);
    const [seen] = attack.taken();
    assert.deepEqual(
      [identityOf(seen!).user, seen!.values('sec-websocket-protocol')],
      [['alice'], ['v5.channel.k8s.io']],
    );
    assert.ok(!attack.raw.bytes.some((bytes) => bytes.includes(token) || bytes.includes(item)));
    client.close();
    for (const alone of [
      item,
      `${item}, ${item}, v5.channel.k8s.io`,
      `base64url.bearer.authorization.k8s.io.=, v5.channel.k8s.io`,
    ]) {
      const refused = await attack.ask(
        way,
        requestBytes(`GET ${exec}`, [...lines, `Sec-WebSocket-Protocol: ${alone}`]),
      );
      assert.ok([400, 401, 403].includes(refused.status), `${refused.status}`);
    }
    assert.equal(attack.taken().length, 0);
  });
}
