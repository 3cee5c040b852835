import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestAuthority } from '../../test/pretend/certificates.ts';
import { jwkOf, makeKey, startIssuer } from '../../test/issuer.ts';
import type { TestIssuer } from '../../test/issuer.ts';
import { fetchIssuerDocument, IssuerFault } from './issuer-fetch.ts';
import { followIssuerKeys } from './issuer-keys.ts';
import type { IssuerKeys, IssuerTiming } from './issuer-keys.ts';
import { serve } from '../../test/pretend/server.ts';

const first = makeKey('ES256', 'first');
const second = makeKey('ES256', 'second');
const quick: IssuerTiming = { refreshMs: 3_600_000, retryMs: 20, unknownKeyMs: 20, maxAgeMs: 3_600_000 };
let authority: TestAuthority;
let stranger: TestAuthority;
const open: (TestIssuer | IssuerKeys)[] = [];

before(async () => {
  authority = await makeTestAuthority();
  stranger = await makeTestAuthority('somebody else');
});
after(async () => {
  for (const one of open) await one.close();
});

async function provider(): Promise<TestIssuer> {
  const issuer = await startIssuer(authority, [first]);
  open.push(issuer);
  return issuer;
}

function follow(
  issuer: TestIssuer,
  timing: Partial<IssuerTiming> = {},
  faults: (string | undefined)[] = [],
): IssuerKeys {
  const keys = followIssuerKeys(
    { url: issuer.url, discoveryUrl: undefined, certificateAuthority: authority.ca },
    { timing: { ...quick, ...timing }, onFault: (fault) => void faults.push(fault) },
  );
  open.push(keys);
  return keys;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

test('keys come by discovery; a thousand who miss a key share one fetch, and get it', async () => {
  const issuer = await provider();
  const keys = follow(issuer);
  const tried = await keys.first();
  assert.deepEqual(
    tried?.keys.map(({ keyId }) => keyId),
    ['first'],
  );
  issuer.jwks = { keys: [jwkOf(first), jwkOf(second)] };
  const found = await Promise.all(Array.from({ length: 1_000 }, () => keys.changed(tried!)));
  assert.ok(found.every((set) => set === found[0] && set?.keys.length === 2));
  assert.deepEqual(issuer.asked, ['/.well-known/openid-configuration', '/jwks', '/jwks']);
});

test('made-up keys make the provider be asked at most once in the interval', async () => {
  const issuer = await provider();
  const keys = follow(issuer, { unknownKeyMs: 200 });
  const tried = await keys.first();
  const beganMs = performance.now();
  let waves = 0;
  while (performance.now() - beganMs < 500) {
    assert.equal(await keys.changed(tried!), undefined);
    waves += 1;
  }
  assert.ok(
    issuer.asked.length <= 2 + Math.ceil((performance.now() - beganMs) / 200),
    `${issuer.asked.length} in ${waves}`,
  );
});

test('a provider that is down at start is asked again until it answers, and each change is reported once (FLT-11)', async () => {
  const gone = await provider();
  const { port } = gone;
  await gone.close();
  const faults: (string | undefined)[] = [];
  const keys = follow(gone, {}, faults);
  assert.equal(await keys.first(), undefined);
  assert.match(keys.fault() ?? '', /ECONNREFUSED/);
  const back = await startIssuer(authority, [first], { port });
  open.push(back);
  await until(() => keys.current() !== undefined);
  assert.equal(keys.fault(), undefined);
  assert.equal(faults.length, 2);
});

test('a provider that goes down later keeps the keys that are known, but not for ever (FLT-11)', async () => {
  const issuer = await provider();
  let nowMs = 0;
  const keys = followIssuerKeys(
    { url: issuer.url, discoveryUrl: undefined, certificateAuthority: authority.ca },
    { timing: { ...quick, maxAgeMs: 1_000 }, now: () => nowMs },
  );
  open.push(keys);
  const known = await keys.first();
  issuer.answer = (_, response) => {
    response.writeHead(503).end();
    return true;
  };
  nowMs = 900;
  assert.equal(await keys.changed(known!), undefined);
  assert.equal(keys.current(), known);
  nowMs = 1_001;
  assert.equal(keys.current(), undefined);
  issuer.answer = () => false;
  await until(() => keys.current() !== undefined);
  assert.equal(keys.current(), known, 'the same keys are the same set');
});

test('a key that the provider withdraws is gone with the next fetch', async () => {
  const issuer = await provider();
  const keys = follow(issuer, { refreshMs: 20 });
  await keys.first();
  issuer.jwks = { keys: [jwkOf(second)] };
  await until(() => keys.current()?.keys[0]?.keyId === 'second');
  assert.equal(keys.current()?.keys.length, 1);
});

for (const [name, discovery, reason] of [
  ['of another issuer', { issuer: 'https://evil.test' }, /another issuer/],
  ['with a trailing slash more', { issuer: undefined }, /another issuer/],
  ['with keys over http', { jwks_uri: 'http://127.0.0.1:1/jwks' }, /not an https URL/],
  ['with keys in a file', { jwks_uri: 'file:///etc/passwd' }, /not an https URL/],
  ['with keys at a link-local address', { jwks_uri: 'https://169.254.169.254/latest' }, /link-local/],
  ['with keys at a mapped link-local address', { jwks_uri: 'https://[::ffff:169.254.169.254]/' }, /link-local/],
  ['without keys', { jwks_uri: 7 }, /names no jwks_uri/],
] as const) {
  test(`a discovery document ${name} gives no keys`, async () => {
    const issuer = await provider();
    issuer.discovery = discovery;
    const keys = follow(issuer, { retryMs: 3_600_000 });
    assert.equal(await keys.first(), undefined);
    assert.match(keys.fault() ?? '', reason);
  });
}

for (const [name, set, reason] of [
  [
    'only weak RSA keys',
    { keys: [{ ...jwkOf(makeKey('RS256', 'x')), n: Buffer.alloc(128, 255).toString('base64url') }] },
    /no key that can be used/,
  ],
  ['only symmetric keys', { keys: [{ kty: 'oct', k: 'c2VjcmV0', alg: 'HS256' }] }, /any signing keys/],
  [
    'a point that is not on the curve',
    { keys: [{ ...jwkOf(first), y: (jwkOf(second) as { y: string }).y }] },
    /any signing keys/,
  ],
  ['keys for encryption', { keys: [jwkOf(first, { use: 'enc' })] }, /any signing keys/],
  ['no list', { keys: 'all' }, /JSON Web Key Set/],
  ['nothing', {}, /JSON Web Key Set/],
] as const) {
  test(`a JWKS of ${name} is a fault, not a set without keys`, async () => {
    const issuer = await provider();
    issuer.jwks = set;
    const keys = follow(issuer, { retryMs: 3_600_000 });
    assert.equal(await keys.first(), undefined);
    assert.match(keys.fault() ?? '', reason);
  });
}

test('redirects are not followed, and too much, too late or cut answers are faults', async () => {
  const issuer = await provider();
  const get = (options: { timeoutMs?: number; maxBytes?: number; ca?: string } = {}): Promise<unknown> =>
    fetchIssuerDocument(`${issuer.url}/x`, { certificateAuthority: options.ca ?? authority.ca, ...options });
  const answers = (write: TestIssuer['answer']): void => void (issuer.answer = write);
  answers((_, response) => {
    response.writeHead(302, { location: `${issuer.url}/jwks` }).end();
    return true;
  });
  await assert.rejects(get(), /answered 302, a redirect, and none is followed/);
  answers((_, response) => {
    const write = (): void =>
      void (response.write(Buffer.alloc(65_536, 0x20)) ? setImmediate(write) : response.once('drain', write));
    write();
    return true;
  });
  await assert.rejects(get({ maxBytes: 100_000 }), /more than 100000 bytes/);
  answers(() => true);
  await assert.rejects(get({ timeoutMs: 50 }), /no answer in time/);
  answers((_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{');
    setImmediate(() => response.destroy());
    return true;
  });
  await assert.rejects(get(), IssuerFault);
  answers((_, response) => {
    response.end('secret text that is no JSON');
    return true;
  });
  await assert.rejects(
    get(),
    (error: Error) => /did not answer with JSON/.test(error.message) && !error.message.includes('secret'),
  );
  answers(() => false);
  await assert.rejects(get({ ca: stranger.ca }), /cannot be reached/);
});

test('a provider is asked by the proxy of the environment, whose refusal is a fault', async (t) => {
  const issuer = await provider();
  const { port } = new URL(issuer.url);
  const asked: string[] = [];
  let isOpen = true;
  const proxy = createServer();
  proxy.on('connect', ({ url }, client) => {
    asked.push(String(url));
    if (!isOpen) {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    const upstream = connect(Number(port), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
  });
  const server = await serve(proxy);
  t.after(server.close);
  const address = `http://127.0.0.1:${server.port}`;
  const get = (environment: Record<string, string>): Promise<unknown> =>
    fetchIssuerDocument(`https://issuer.test:${port}/jwks`, { certificateAuthority: authority.ca, environment });
  assert.deepEqual(Object.keys((await get({ HTTPS_PROXY: address })) as object), ['keys']);
  assert.deepEqual(asked, [`issuer.test:${port}`]);
  await assert.rejects(get({ HTTPS_PROXY: address, NO_PROXY: '.test' }), /cannot be (resolved|reached)/);
  await assert.rejects(
    fetchIssuerDocument(`https://issuer.test:${port}/jwks`, {
      ...{ certificateAuthority: stranger.ca, environment: { HTTPS_PROXY: address } },
    }),
    /cannot be reached/,
  );
  isOpen = false;
  await assert.rejects(get({ HTTPS_PROXY: address }), IssuerFault);
});
