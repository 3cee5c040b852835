import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authority, makeCertificate, testNowMs, usedFor } from '../../auth/x509/certificates.fixture.ts';
import type { TestCertificate } from '../../auth/x509/certificates.fixture.ts';
import type { ApiObject, ApiObjects } from '../../kube/types.ts';
import type { ReflectorState } from '../../kube/reflector/reflector.ts';
import { makeHubTrust } from './hub-trust.ts';

const proxies = await makeCertificate({ subject: [{ CN: ['front-proxy-ca'] }], extensions: authority() });
const people = await makeCertificate({ subject: [{ CN: ['client-ca'] }], extensions: authority() });
const others = await makeCertificate({ subject: [{ CN: ['other-ca'] }], extensions: authority() });
const leaf = (name: string, issuer: TestCertificate) =>
  makeCertificate({ subject: [{ CN: [name] }], issuer, extensions: [usedFor()] });
const proxy = await leaf('front-proxy-client', proxies);
const kate = await leaf('kate', people);

const published = {
  'client-ca-file': people.pem,
  'requestheader-client-ca-file': proxies.pem,
  'requestheader-allowed-names': '["front-proxy-client"]',
  'requestheader-username-headers': '["X-Remote-User"]',
  'requestheader-group-headers': '["X-Remote-Group"]',
  'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
};

function objects(data: Record<string, unknown> | undefined): ApiObjects {
  if (data === undefined) return new Map();
  const metadata = {
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication',
    uid: 'u',
    resourceVersion: '1',
  };
  return new Map<string, ApiObject>([['kube-system/extension-apiserver-authentication', { metadata, data }]]);
}

function trust() {
  const reported: string[] = [];
  let changes = 0;
  const made = makeHubTrust(
    {
      onFault: (message) => reported.push(`fault: ${message}`),
      onRecovered: (message) => reported.push(`gone: ${message}`),
    },
    () => testNowMs,
  );
  made.onClientCas(() => (changes += 1));
  const through = (shown: TestCertificate, which: 'frontProxy' | 'clientCertificates', user = 'alice') => {
    try {
      const known = made[which]({
        rawHeaders: ['X-Remote-User', user],
        peerCertificates: [shown.der],
        tlsAuthorized: true,
      }) as { name: string; origin: string } | undefined;
      return known && `${known.name} of ${known.origin}`;
    } catch {
      return 'refused';
    }
  };
  return {
    ...made,
    set: (data: Record<string, unknown> | undefined) => made.apply(objects(data)),
    viaProxy: () => through(proxy, 'frontProxy'),
    asKate: () => through(kate, 'clientCertificates'),
    reported,
    changes: () => changes,
  };
}

test('before the hub has said anything nobody is trusted and no authority named', () => {
  const made = trust();
  assert.deepEqual([made.viaProxy(), made.asKate(), made.clientCas()], [undefined, undefined, '']);
});

test('the front proxy speaks for users, a client certificate for its holder, both for the hub to vouch for', () => {
  const made = trust();
  made.set(published);
  assert.deepEqual([made.viaProxy(), made.asKate()], ['alice of hub', 'kate of hub']);
  assert.deepEqual(made.faults(), []);
});

test('the listener asks for certificates of both authorities, and is called when they change and only then', () => {
  const made = trust();
  made.set(published);
  assert.ok(made.clientCas().includes(people.pem) && made.clientCas().includes(proxies.pem));
  made.set({ ...published });
  made.set({ ...published, 'requestheader-allowed-names': '[]' });
  assert.equal(made.changes(), 1);
  made.set({ ...published, 'client-ca-file': others.pem });
  assert.equal(made.changes(), 2);
  assert.ok(!made.clientCas().includes(people.pem));
});

test('each authority is trusted for its own purpose only', async () => {
  const made = trust();
  made.set(published);
  const asUser = await leaf('front-proxy-client', people);
  const request = (shown: TestCertificate) => ({
    rawHeaders: ['X-Remote-User', 'admin'],
    peerCertificates: [shown.der],
    tlsAuthorized: true,
  });
  assert.throws(() => made.frontProxy(request(asUser)));
  assert.throws(() => made.clientCertificates(request(proxy)));
});

test('a new authority counts from the next request on, the old one no more', () => {
  const made = trust();
  made.set(published);
  made.set({ ...published, 'client-ca-file': others.pem, 'requestheader-client-ca-file': others.pem });
  assert.deepEqual([made.viaProxy(), made.asKate()], ['refused', 'refused']);
  made.set(published);
  assert.deepEqual([made.viaProxy(), made.asKate()], ['alice of hub', 'kate of hub']);
});

test('a bad edit keeps the last good state of its part and is reported once, and its repair too', () => {
  const made = trust();
  made.set(published);
  for (let i = 0; i < 2; i++) made.set({ ...published, 'client-ca-file': 'nonsense' });
  assert.equal(made.asKate(), 'kate of hub');
  assert.equal(made.reported.length, 1);
  assert.match(made.reported[0]!, /client-ca-file.*last good state is kept/);
  assert.equal(made.faults().length, 1);
  made.set({ ...published, 'client-ca-file': 'nonsense', 'requestheader-username-headers': 'X-Remote-User' });
  assert.equal(made.viaProxy(), 'alice of hub');
  assert.equal(made.faults().length, 2);
  made.set(published);
  assert.deepEqual([made.faults(), made.reported.filter((line) => line.startsWith('gone')).length], [[], 2]);
});

test('a bad edit of one part does not hold back the other', () => {
  const made = trust();
  made.set(published);
  made.set({ ...published, 'requestheader-group-headers': '{', 'client-ca-file': others.pem });
  assert.deepEqual([made.viaProxy(), made.asKate()], ['alice of hub', 'refused']);
});

test('a key that is removed ends the trust in its authority', () => {
  const made = trust();
  made.set(published);
  const { 'client-ca-file': _client, ...withoutClient } = published;
  made.set(withoutClient);
  assert.deepEqual([made.viaProxy(), made.asKate()], ['alice of hub', undefined]);
  made.set({ 'client-ca-file': people.pem });
  assert.deepEqual([made.viaProxy(), made.asKate()], [undefined, 'kate of hub']);
  assert.ok(!made.clientCas().includes(proxies.pem));
});

test('a removed object keeps the trust, and one that never existed is a fault', () => {
  const made = trust();
  made.set(undefined);
  assert.match(made.faults().join(), /is not there; nobody is trusted/);
  made.set(published);
  assert.deepEqual(made.faults(), []);
  made.set(undefined);
  assert.deepEqual([made.viaProxy(), made.asKate()], ['alice of hub', 'kate of hub']);
  assert.match(made.faults().join(), /those trusted before are/);
});

test('a gateway that may not read the object says what to bind', () => {
  const made = trust();
  const state: ReflectorState = {
    phase: 'failing',
    synced: false,
    lastConfirmedAtMs: undefined,
    resourceVersion: '',
    fault: { reason: 'Forbidden', message: 'the hub says 403' },
  };
  made.applyState(state);
  assert.match(made.faults().join(), /extension-apiserver-authentication-reader in kube-system/);
  made.applyState({ ...state, phase: 'watching', fault: undefined });
  assert.deepEqual(made.faults(), []);
});
