import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeAddressRule } from '../../../model/address-rule.ts';
import { fixedCredential } from '../../../model/fixed-credential.ts';
import type { HubSource } from '../hub-source.ts';
import type { ClusterSpec, ProxyAddress } from '../../../model/records.ts';
import { withCheckedAddresses } from './address-checks.ts';

const rule = makeAddressRule({ allowed: [], refused: [] });
const tunnel: ProxyAddress = { scheme: 'https', host: '127.0.0.1', port: 8090, userinfo: undefined };
const trust = { ca: undefined, serverName: undefined, insecure: false };

function specAt(host: string, change: Partial<ClusterSpec> = {}): ClusterSpec {
  return {
    name: 'm1',
    originalName: 'm1',
    uid: 'uid',
    source: 'test',
    sourceDetail: 'Secret m1',
    labels: {},
    endpoint: { scheme: 'https', host, port: 443, basePath: '' },
    tls: trust,
    proxy: undefined,
    credential: fixedCredential('token', {
      authorization: 'Bearer x',
      clientCertificate: undefined,
      expiresAtMs: undefined,
    }),
    transportKey: 'key',
    problem: undefined,
    ...change,
  };
}

function judged(...specs: readonly ClusterSpec[]): readonly ClusterSpec[] {
  const source: HubSource = { name: 'test', watches: [], compile: () => specs };
  return withCheckedAddresses(source, rule, tunnel).compile([]);
}

test('a cluster at a refused address has a problem that says so, and neither address nor credential (ATT-30)', () => {
  const [spec] = judged(specAt('169.254.169.254'));
  assert.deepEqual([spec?.endpoint, spec?.credential, spec?.problem?.reason], [undefined, undefined, 'AddressRefused']);
  assert.match(spec?.problem?.message ?? '', /169\.254\.169\.254 .*--allow-member-addresses/);
});

test('a refused fallback or proxy refuses the cluster, too (ATT-30)', () => {
  const fallbacks = [{ endpoint: { scheme: 'https', host: '::1', port: 6443, basePath: '' }, tls: trust }] as const;
  const proxy: ProxyAddress = {
    scheme: 'http',
    host: 'localhost',
    port: 3128,
    userinfo: { username: 'u', password: 'p4ss' },
  };
  for (const [change, host] of [
    [{ fallbacks }, '::1'],
    [{ proxy }, 'localhost'],
  ] as const) {
    const [spec] = judged(specAt('10.0.0.1', change));
    assert.equal(spec?.problem?.reason, 'AddressRefused');
    assert.ok(spec.problem.message.includes(host));
    assert.ok(!spec.problem.message.includes('p4ss'));
    assert.deepEqual([spec.proxy, spec.fallbacks, spec.credential], [undefined, undefined, undefined]);
  }
});

test('every other cluster carries the rule for its connections', () => {
  const [spec] = judged(specAt('api.example.com'));
  assert.equal(spec?.addressRule, rule);
  assert.equal(spec.problem, undefined);
});

test('what is behind the operator’s own tunnel server is not judged: it is resolved on the other side', () => {
  const given = specAt('localhost', { proxy: tunnel });
  assert.deepEqual(judged(given), [given]);
  const [alike] = judged(specAt('10.0.0.1', { proxy: { ...tunnel } }));
  assert.equal(alike?.problem?.reason, 'AddressRefused', 'an object that names the same server is no operator');
});

test('an unchanged cluster stays the very same, and one that has a problem keeps it', () => {
  const good = specAt('10.0.0.1');
  const unusable = specAt('x', {
    endpoint: undefined,
    credential: undefined,
    problem: { reason: 'Other', message: 'm' },
  });
  const source: HubSource = { name: 'test', watches: [], compile: () => [good, unusable] };
  const one = withCheckedAddresses(source, rule, undefined);
  const [first, second] = one.compile([]);
  assert.deepEqual([one.compile([])[0] === first, second === unusable], [true, true]);
});
