// Who may act as whom and do what, over every transport, and that a refusal sends nothing.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { rawHttp2 } from '../site/raw-http2.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

const everything = { apiGroups: ['*'], resources: ['*'] };
const user = (name: string) => [{ kind: 'User', name }];
let site: Site;

before(async () => {
  site = await startSite({
    users: ['alice', 'getter', 'lister', 'patcher', 'boss', 'partial'].map((name) => ({
      token: `${name}-token`,
      name,
    })),
    rules: [
      {
        subjects: user('alice'),
        verbs: ['*'],
        apiGroups: [''],
        resources: ['pods', 'pods/exec'],
        nonResourceURLs: ['*'],
      },
      { subjects: user('getter'), verbs: ['get'], ...everything },
      { subjects: user('lister'), verbs: ['list'], ...everything },
      { subjects: user('patcher'), verbs: ['get', 'patch', 'update'], apiGroups: [''], resources: ['pods'] },
      { subjects: user('boss'), verbs: ['impersonate'], ...everything },
      {
        subjects: user('partial'),
        verbs: ['impersonate'],
        apiGroups: [''],
        resources: ['users'],
        resourceNames: ['alice'],
      },
    ],
  });
});

after(() => site.close());
afterEach(() => void site.members[0]!.requests.splice(0));

const api = '/clusters/m1/proxy/api/v1';
const exec = `${api}/namespaces/default/pods/web/exec?command=id`;
const bearer = (name = 'alice'): string => `Authorization: Bearer ${name}-token`;

/** Sends and expects a refusal of ours, with nothing upstream. */
async function refused(bytes: string, status: number | readonly number[]): Promise<RawAnswer> {
  const answer = await exchange(site, bytes);
  assert.ok([status].flat().includes(answer.status), `answered ${answer.status}: ${answer.body}`);
  assert.equal(site.upstream(), 0);
  return answer;
}

/** The same over HTTP/2. */
async function refusedOverHttp2(line: string, name = 'alice'): Promise<void> {
  const [method = '', path = ''] = line.split(' ');
  const outcome = await rawHttp2(site, {
    headers: [
      [':method', method],
      [':scheme', 'https'],
      [':authority', 'gateway.test'],
      [':path', path],
      ['authorization', `Bearer ${name}-token`],
      ['x-http-method-override', 'GET'],
    ],
  });
  assert.equal(outcome, 403, line);
  assert.equal(site.upstream(), 0);
}

const spellings: Readonly<Record<string, (name: string) => string>> = {
  'as documented': (name) => name,
  'in lower case': (name) => name.toLowerCase(),
  'in upper case': (name) => name.toUpperCase(),
  'in mixed case': (name) => [...name].map((c, i) => (i % 2 === 0 ? c.toLowerCase() : c.toUpperCase())).join(''),
  'with underscores': (name) => name.replaceAll('-', '_'),
  'with a dot': (name) => name.replace('-', '.'),
  'with a blank behind': (name) => `${name} `,
  'with a blank in front': (name) => ` ${name}`,
};
const headerNames = [
  'Impersonate-User',
  'Impersonate-Group',
  'Impersonate-Uid',
  'Impersonate-Extra-scopes',
  'Impersonate-Foo',
];

for (const [spelling, spell] of Object.entries(spellings)) {
  test(`impersonation headers ${spelling}, without the grant, over every transport: refused, nothing upstream (ATT-03)`, async () => {
    for (const plain of headerNames) {
      const name = spell(plain);
      for (const value of spelling === 'as documented' ? ['admin', ''] : ['admin']) {
        const lines = [bearer(), `${name}: ${value}`];
        await refused(requestBytes(`GET ${api}/pods`, lines), [400, 403]);
        await refused(requestBytes(`GET ${exec}`, [...lines, ...upgradeLines('websocket')]), [400, 403]);
        await refused(requestBytes(`POST ${exec}`, [...lines, ...upgradeLines('SPDY/3.1')]), [400, 403]);
      }
      const outcome = await rawHttp2(site, {
        headers: [
          [':method', 'GET'],
          [':scheme', 'https'],
          [':authority', 'gateway.test'],
          [':path', `${api}/pods`],
          ['authorization', 'Bearer alice-token'],
          [name, 'admin'],
        ],
      });
      // nghttp2 drops a field whose name is no token, and resets a stream with upper case in one.
      if (outcome === 200) assert.match(name, / /);
      else assert.ok([400, 403, 'reset', 'closed'].includes(outcome), `answered ${outcome}`);
      for (const { head, values } of site.members[0]!.requests.splice(0)) {
        assert.equal(outcome, 200);
        assert.deepEqual(values('impersonate-user'), ['alice']);
        assert.doesNotMatch(head, /admin/);
      }
    }
  });
}

test('the same requests without such a header do pass (ATT-03)', async () => {
  assert.equal((await exchange(site, requestBytes(`GET ${api}/pods`, [bearer()]))).status, 200);
  assert.equal(site.upstream(), 1);
});

test('--as without the grant is 403 and says who may not impersonate whom (ATT-03)', async () => {
  const answer = await refused(requestBytes(`GET ${api}/pods`, [bearer(), 'Impersonate-User: admin']), 403);
  assert.match(answer.body, /User \\"alice\\" cannot impersonate resource \\"users\\"/);
});

test('every part of an impersonated identity needs its own grant (ATT-03)', async () => {
  const as = ['Impersonate-User: alice'];
  const allowed = await exchange(site, requestBytes(`GET ${api}/pods`, [bearer('partial'), ...as]));
  assert.equal(allowed.status, 200);
  assert.deepEqual(site.members[0]!.requests.splice(0)[0]!.values('impersonate-user'), ['alice']);
  for (const more of ['Impersonate-Group: system:masters', 'Impersonate-Uid: 1', 'Impersonate-Extra-scopes: a']) {
    await refused(requestBytes(`GET ${api}/pods`, [bearer('partial'), ...as, more]), 403);
  }
  await refused(requestBytes(`GET ${api}/pods`, [bearer('partial'), 'Impersonate-User: boss']), 403);
});

test('behind --as the impersonated user’s own rules decide (ATT-03)', async () => {
  await refused(requestBytes(`GET ${api}/secrets`, [bearer('boss'), 'Impersonate-User: alice']), 403);
  await refused(requestBytes(`GET ${api}/pods`, [bearer('boss'), 'Impersonate-User: nobody']), 403);
});

test('nobody may be, or be in, what only the gateway itself may (ATT-03)', async () => {
  for (const lines of [
    ['Impersonate-User: portcullis:probe'],
    ['Impersonate-User: alice', 'Impersonate-Group: portcullis:anything'],
  ]) {
    await refused(requestBytes(`GET ${api}/pods`, [bearer('boss'), ...lines]), 403);
  }
});

test('two users to impersonate are refused, never the first one taken (ATT-03)', async () => {
  const lines = [bearer('boss'), 'Impersonate-User: alice', 'impersonate-user: admin'];
  await refused(requestBytes(`GET ${api}/pods`, lines), 400);
});

test('who may only get can neither list, watch, delete collections nor run commands (ATT-28)', async () => {
  const single = await exchange(site, requestBytes(`GET ${api}/namespaces/default/pods/web`, [bearer('getter')]));
  assert.equal(single.status, 200);
  site.members[0]!.requests.splice(0);
  for (const line of [
    `GET ${api}/pods`,
    `GET ${api}/pods?fieldSelector=metadata.name%3Dweb`,
    `GET ${api}/pods?watch=true`,
    `GET ${api}/watch/pods`,
    `GET ${api}/watch/namespaces/default/pods/web`,
    `GET ${api}/proxy/namespaces/default/pods/web`,
    `DELETE ${api}/namespaces/default/pods`,
    `DELETE ${api}/namespaces/default/pods/web`,
    `POST ${api}/namespaces/default/pods`,
    `PATCH ${api}/namespaces/default/pods/web`,
  ]) {
    await refused(requestBytes(line, [bearer('getter'), 'X-HTTP-Method-Override: GET', 'X-HTTP-Method: GET']), 403);
    await refusedOverHttp2(line, 'getter');
  }
  const pod = `${api}/namespaces/default/pods/web`;
  for (const path of [
    `${pod}/exec`,
    `${pod}/attach`,
    `${pod}/portforward`,
    `${api}/nodes/n1/proxy/exec/default/web/c`,
  ]) {
    await refused(requestBytes(`GET ${path}`, [bearer('getter'), ...upgradeLines('websocket')]), 403);
    await refused(requestBytes(`POST ${path}`, [bearer('getter'), ...upgradeLines('SPDY/3.1')]), 403);
  }
  for (const path of [`${pod}/log?follow=true`, `${pod}/proxy`, `${api}/namespaces/default/services/web/proxy`]) {
    await refused(requestBytes(`POST ${path}`, [bearer('getter'), ...upgradeLines('SPDY/3.1')]), 403);
  }
});

test('who may only list cannot watch, however the query spells it (ATT-28)', async () => {
  const plain = await exchange(site, requestBytes(`GET ${api}/pods?watch=false&watch=true`, [bearer('lister')]));
  assert.equal(plain.status, 200);
  site.members[0]!.requests.splice(0);
  for (const query of [
    'watch=true',
    'watch=1',
    'watch=TRUE',
    'watch=yes',
    'watch=',
    'watch',
    'watch=+',
    'watch=%ff',
    'watch=%C3',
    'watch=%00',
    'watch=%66alse%20',
    '%77atch=true',
    '%77%61%74%63%68=1',
    'a=%zz&watch=true',
    'a;b=1&watch=true',
    'limit=5&&watch=true',
    'watch=true&watch=false',
  ]) {
    await refused(requestBytes(`GET ${api}/pods?${query}`, [bearer('lister')]), 403);
  }
});

test('a method override changes neither what is decided nor what is sent (ATT-28)', async () => {
  const override = ['X-HTTP-Method-Override: DELETE', 'X-Method-Override: DELETE', '_method: DELETE'];
  const path = `${api}/namespaces/default/pods/web?_method=DELETE`;
  assert.equal((await exchange(site, requestBytes(`GET ${path}`, [bearer('getter'), ...override]))).status, 200);
  const [request] = site.members[0]!.requests;
  assert.equal(request?.method, 'GET');
  assert.doesNotMatch(request!.head, /override/i);
});

test('methods that stand for no verb are refused, also where "*" is granted (ATT-40)', async () => {
  for (const method of ['TRACE', 'PROPFIND', 'MKCOL', 'PURGE', 'LOCK', 'SUBSCRIBE', 'OPTIONS', 'QUERY', 'FETCH']) {
    await refused(requestBytes(`${method} ${api}/pods`, [bearer()]), 403);
    await refusedOverHttp2(`${method} ${api}/pods`);
    if (method !== 'OPTIONS') await refused(requestBytes(`${method} /clusters/m1/proxy/healthz`, [bearer()]), 403);
  }
});

test('a grant on pods is none on their subresources, ephemeralcontainers and exec among them (ATT-40)', async () => {
  const pod = `${api}/namespaces/default/pods/web`;
  assert.equal((await exchange(site, requestBytes(`PATCH ${pod}`, [bearer('patcher')]))).status, 200);
  site.members[0]!.requests.splice(0);
  for (const line of [
    `PATCH ${pod}/ephemeralcontainers`,
    `PUT ${pod}/ephemeralcontainers`,
    `PATCH ${pod}/status`,
    `GET ${pod}/exec?command=id`,
    `GET ${pod}/log`,
  ]) {
    await refused(requestBytes(line, [bearer('patcher')]), 403);
  }
});

const item = (token: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
const handshake = (protocols: string, more: readonly string[] = []): string[] => [
  ...upgradeLines('websocket').filter((line) => !line.startsWith('Sec-WebSocket-Protocol')),
  ...(protocols === '' ? [] : [`Sec-WebSocket-Protocol: ${protocols}`]),
  ...more,
];

test('a bearer token beside another subprotocol logs in; it is neither sent on nor echoed (ATT-38)', async () => {
  for (const protocols of [
    `${item('alice-token')}, v5.channel.k8s.io`,
    `v5.channel.k8s.io,${item('alice-token')}`,
    `${item('alice-token')}\r\nSec-WebSocket-Protocol: v5.channel.k8s.io`,
  ]) {
    const client = await openRaw(site);
    site.members[0]!.answer = ({ socket }) =>
      void socket.write(
        'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n',
      );
    client.send(requestBytes(`GET ${exec}`, handshake(protocols)));
    const answer = await client.answer();
    assert.equal(answer.status, 101);
    assert.deepEqual(answer.values('sec-websocket-protocol'), ['v5.channel.k8s.io']);
    const request = site.members[0]!.requests.splice(0)[0]!;
    assert.deepEqual(request.values('impersonate-user'), ['alice']);
    assert.deepEqual(request.values('sec-websocket-protocol'), ['v5.channel.k8s.io']);
    assert.doesNotMatch(request.head, /base64url/);
    client.close();
  }
});

test('the Authorization header wins over a token among the subprotocols (ATT-38)', async () => {
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${exec}`, handshake(`${item('getter-token')}, v5.channel.k8s.io`, [bearer()])));
  const request = await site.members[0]!.request(0);
  assert.deepEqual(request.values('impersonate-user'), ['alice']);
  assert.doesNotMatch(request.head, /base64url/);
  client.close();
});

for (const [name, lines] of Object.entries({
  alone: handshake(item('alice-token')),
  twice: handshake(`${item('alice-token')}, ${item('alice-token')}, v5.channel.k8s.io`),
  'twice over two lines': handshake(`${item('alice-token')}\r\nSec-WebSocket-Protocol: ${item('alice-token')}, v5`),
  padded: handshake(`${item('alice-token')}=, v5.channel.k8s.io`),
  'in another alphabet': handshake(`${item('alice-token')}+, v5.channel.k8s.io`),
  'that is no UTF-8': handshake(`base64url.bearer.authorization.k8s.io._w, v5.channel.k8s.io`),
  'that is empty': handshake('base64url.bearer.authorization.k8s.io., v5.channel.k8s.io'),
  'of nobody': handshake(`${item('nobody-token')}, v5.channel.k8s.io`),
  'in upper case': handshake(`${item('alice-token').replace('base64url', 'BASE64URL')}, v5.channel.k8s.io`),
  'beside SPDY': [...upgradeLines('SPDY/3.1'), `Sec-WebSocket-Protocol: ${item('alice-token')}, v5.channel.k8s.io`],
  'without an upgrade': [`Sec-WebSocket-Protocol: ${item('alice-token')}, v5.channel.k8s.io`],
})) {
  test(`a bearer token among the subprotocols ${name} logs nobody in (ATT-38)`, async () => {
    await refused(requestBytes(`GET ${exec}`, lines), 401);
  });
}
