// What the gateway serves below /console/, byte by byte as a browser gets it, and what it refuses.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readConsoleAssets } from '../../gateway/console/assets.ts';
import { makeConsole } from '../../gateway/console/console.ts';
import type { ConsoleConfig } from '../../config/sections/console-config.ts';
import type { ConsoleRequest } from '../../gateway/console/console.ts';
import { GatewayError } from '../../model/errors.ts';
import { exchange, requestBytes } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

const script = Buffer.from('let x = 1;');
const assets = {
  page: '<script nonce="NONCE"></script>',
  files: new Map([
    [
      'main-1.js',
      {
        contentType: 'text/javascript; charset=utf-8',
        bodies: new Map([
          ['', script],
          ['br', Buffer.from('small')],
        ] as const),
        hash: 'abc',
      },
    ],
  ]),
};

interface Served {
  readonly status: number;
  readonly text: string;
  readonly header: (name: string) => string | undefined;
}

function serve(request: Partial<ConsoleRequest>, config: ConsoleConfig = {}, built = true): Served {
  const answer = makeConsole({ assets: built ? assets : undefined, config, takesCertificates: () => false });
  const { status, headers, body } = answer({
    method: 'GET',
    path: '',
    host: '127.0.0.1:1',
    headers: [],
    auditId: 'a',
    ...request,
  });
  const named = new Map<string, string>();
  for (let i = 0; i < headers.length; i += 2) named.set(headers[i]!.toLowerCase(), headers[i + 1]!);
  return { status, text: body.toString(), header: (name) => named.get(name) };
}

test('every view of the console is the same page, with a nonce of its own each time', () => {
  const [first, second] = [serve({ path: 'search' }), serve({ path: 'c/m1/api/v1/nodes/a.b' })];
  const nonceOf = ({ text }: Served): string => /nonce="([\w-]{20,})"/.exec(text)![1]!;
  assert.notEqual(nonceOf(first), nonceOf(second));
  assert.equal(first.header('cache-control'), 'no-cache');
  assert.equal(
    first.header('content-security-policy'),
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" +
      `${nonceOf(first)}'; connect-src 'self'; img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'self'; ` +
      "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  );
  assert.equal(first.header('x-frame-options'), 'DENY');
  assert.equal(first.header('cross-origin-opener-policy'), 'same-origin');
  assert.equal(first.header('referrer-policy'), 'no-referrer');
});

test('browsers are told to stay with HTTPS, but not of a loopback address, which other programs share', () => {
  assert.equal(serve({ host: 'gateway.example.com' }).header('strict-transport-security'), 'max-age=31536000');
  for (const host of ['127.0.0.1:8443', 'localhost:8443', '[::1]:8443'])
    assert.equal(serve({ host }).header('strict-transport-security'), undefined, host);
});

test('the page may speak to the identity provider of the console and to no other', () => {
  const openid = { issuer: 'https://id.example.com/realms/a', clientId: 'console', scopes: 'openid' };
  assert.match(
    serve({}, { openid }).header('content-security-policy')!,
    /connect-src 'self' https:\/\/id\.example\.com;/,
  );
  assert.deepEqual(JSON.parse(serve({ path: 'config.json' }, { openid }).text), {
    openid,
    certificate: false,
    link: false,
  });
});

test('files are kept by browsers for ever, come as small as the browser takes them, and 304 when it has them', () => {
  const path = 'assets/main-1.js';
  const plain = serve({ path });
  assert.equal(plain.text, script.toString());
  assert.match(plain.header('cache-control')!, /immutable/);
  const small = serve({ path, headers: ['Accept-Encoding', 'gzip, br'] });
  assert.deepEqual(
    [small.text, small.header('content-encoding'), small.header('vary')],
    ['small', 'br', 'Accept-Encoding'],
  );
  assert.notEqual(small.header('etag'), plain.header('etag'));
  assert.equal(serve({ path, headers: ['Accept-Encoding', 'br;q=0, gzip'] }).text, script.toString());
  assert.equal(serve({ path, headers: ['If-None-Match', plain.header('etag')!] }).status, 304);
});

test('a file that is not there and a console that was not built are 404 in words', () => {
  const isNotFound = (words: RegExp) => (error: unknown) =>
    error instanceof GatewayError && error.code === 'NOT_FOUND' && words.test(error.message);
  for (const path of ['assets/other.js', 'assets/', 'assets/../console.ts', 'assets/main-1.js/x'])
    assert.throws(() => serve({ path }), isNotFound(/no such file/), path);
  assert.throws(() => serve({}, {}, false), isNotFound(/node console\/build\.ts/));
  assert.equal(readConsoleAssets('/nowhere'), undefined);
});

test('a one-time code is exchanged for a token by POST alone, and only where the demo has such links', () => {
  const redeem = (code: string): string | undefined => (code === 'good' ? 'secret' : undefined);
  const ask = (code: string, method = 'POST', config: ConsoleConfig = { redeem }): Served =>
    serve({ method, path: 'login-link', headers: ['Portcullis-Login-Code', code] }, config);
  assert.deepEqual(JSON.parse(ask('good').text), { token: 'secret' });
  assert.equal(ask('good').header('cache-control'), 'no-store');
  const isCode = (code: string) => (error: unknown) => error instanceof GatewayError && error.code === code;
  assert.throws(() => ask('bad'), isCode('FORBIDDEN'));
  assert.throws(() => ask('good', 'GET'), isCode('FORBIDDEN'));
  assert.throws(() => ask('good', 'POST', {}), isCode('NOT_FOUND'));
});

let off: Site;
let on: Site;
before(async () => {
  const users = [{ token: 'alice-token', name: 'alice', groups: ['dev'] }];
  off = await startSite({ members: 1, users, config: { console: false } });
  on = await startSite({ members: 2, users });
});
after(() => {
  off?.close();
  on?.close();
});

const ask = (site: Site, line: string, headers: readonly string[] = [], body = ''): Promise<RawAnswer> =>
  exchange(site, requestBytes(line, headers, body));
const alice = ['Authorization: Bearer alice-token'];

test('without a console its paths are 404, and everything else is as before', async () => {
  for (const path of ['/console/', '/console', '/console/config.json'])
    assert.equal((await ask(off, `GET ${path}`)).status, 404, path);
  assert.equal((await ask(off, 'GET /version', alice)).status, 200);
});

test('the settings of the log-in are for everybody, and can only be read', async () => {
  const answer = await ask(on, 'GET /console/config.json');
  // Where the console was not built, as in a fresh checkout, that is what it says.
  if (readConsoleAssets() === undefined) assert.match(answer.body, /node console\/build\.ts/);
  else assert.deepEqual(JSON.parse(answer.body), { certificate: false, link: false });
  assert.equal((await ask(on, 'POST /console/config.json', [], '{}')).status, 405);
  assert.equal((await ask(on, 'GET /console/../version')).status, 400);
});

test('the gateway says who it takes the caller for, and nothing without a login', async () => {
  const path = 'POST /apis/authentication.k8s.io/v1/selfsubjectreviews';
  const answer = await ask(on, path, alice, '{}');
  assert.equal(answer.status, 201);
  const { kind, status } = JSON.parse(answer.body) as { kind: string; status: { userInfo: object } };
  assert.deepEqual(
    [kind, status.userInfo],
    ['SelfSubjectReview', { username: 'alice', groups: ['dev', 'system:authenticated'] }],
  );
  assert.equal((await ask(on, path, [], '{}')).status, 401);
  assert.equal((await ask(on, path.replace('POST', 'GET'), alice)).status, 405);
  for (const { requests } of on.members) assert.deepEqual(requests, [], 'no cluster was asked');
});

test('one question about rights is put to every cluster as the caller, and each answer says whose it is', async () => {
  const question = '{"kind":"SelfSubjectAccessReview","spec":{}}';
  for (const [i, member] of on.members.entries()) {
    member.answer = (request) =>
      request.reply(
        201,
        ['Content-Type: application/json'],
        `{"kind":"SelfSubjectAccessReview","metadata":{},"status":{"allowed":${i === 0}}}`,
      );
  }
  const line = 'POST /clusters/*/proxy/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const answer = await ask(on, line, [...alice, 'Content-Type: application/json'], question);
  assert.equal(answer.status, 200);
  const { items } = JSON.parse(answer.body) as {
    items: { metadata: { annotations: Record<string, string> }; status: { allowed: boolean } }[];
  };
  assert.deepEqual(
    items.map(({ metadata, status }) => [metadata.annotations['shadow.clusterpedia.io/cluster-name'], status.allowed]),
    [
      ['m1', true],
      ['m2', false],
    ],
  );
  for (const { requests } of on.members) {
    assert.deepEqual(
      requests.map(({ method, target }) => `${method} ${target}`),
      ['POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews'],
    );
    assert.deepEqual(requests[0]!.values('impersonate-user'), ['alice']);
  }
});

test('a cluster that does not answer such a question is named, and a real write still needs a selector', async () => {
  on.members[0]!.answer = (request) =>
    request.reply(201, ['Content-Type: application/json'], '{"kind":"X","metadata":{}}');
  on.members[1]!.answer = (request) =>
    request.reply(500, ['Content-Type: application/json'], '{"kind":"Status","message":"broken"}');
  const json = [...alice, 'Content-Type: application/json'];
  const path = '/clusters/*/proxy/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
  const partial = await ask(on, `POST ${path}`, json, '{}');
  assert.equal(partial.status, 200);
  assert.match(partial.values('warning').join(), /m2.*broken/);
  assert.equal((await ask(on, `POST ${path}?partial=false`, json, '{}')).status, 503);
  for (const other of ['authorization.k8s.io/v1/localsubjectaccessreviews', 'apps/v1/deployments'])
    assert.equal((await ask(on, `POST /clusters/*/proxy/apis/${other}`, json, '{}')).status, 400, other);
});
