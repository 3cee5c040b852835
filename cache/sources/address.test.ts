import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../../model/errors.ts';
import { parseProxy, parseServer } from './address.ts';

test('a server URL gives scheme, host, port and the path before the API', () => {
  const cases: readonly (readonly [string, string, string, number, string])[] = [
    ['https://k8s.example', 'https', 'k8s.example', 443, ''],
    ['HTTPS://k8s.example:6443/', 'https', 'k8s.example', 6443, ''],
    ['http://127.0.0.1:8001', 'http', '127.0.0.1', 8001, ''],
    ['http://localhost', 'http', 'localhost', 80, ''],
    ['https://[::1]:6443', 'https', '::1', 6443, ''],
    ['https://rancher.example/k8s/clusters/c-1/', 'https', 'rancher.example', 443, '/k8s/clusters/c-1'],
    ['https://x.example/a%20b/~c', 'https', 'x.example', 443, '/a%20b/~c'],
    ['https://my_host.example.:1', 'https', 'my_host.example.', 1, ''],
    ['https://xn--mnchen-3ya.example', 'https', 'xn--mnchen-3ya.example', 443, ''],
  ];
  for (const [text, scheme, host, port, basePath] of cases) {
    assert.deepEqual(parseServer(text), { scheme, host, port, basePath }, text);
  }
});

test('a host with or without a port has the scheme that its cluster’s trust says, as for kubectl', () => {
  const cases: readonly (readonly [string, string, number])[] = [
    ['10.0.0.1:6443', '10.0.0.1', 6443],
    ['localhost:8001', 'localhost', 8001],
    ['k8s.example/', 'k8s.example', 80],
    ['[::1]:6443', '::1', 6443],
  ];
  for (const [text, host, port] of cases) {
    assert.deepEqual(parseServer(text, 'server', 'http'), { scheme: 'http', host, port, basePath: '' }, text);
    const secure = { scheme: 'https', host, port: port === 80 ? 443 : port, basePath: '' };
    assert.deepEqual(parseServer(text, 'server', 'https'), secure, text);
    assert.throws(() => parseServer(text), /form https/, text);
  }
  // client-go takes neither a path nor anything else there.
  for (const text of ['k8s.example/path', '//k8s.example', 'u@k8s.example', '::1', 'k8s.example:x', 'https:k8s', ':1'])
    assert.throws(() => parseServer(text, 'server', 'https'), GatewayError, text);
  assert.throws(() => parseServer('2130706433:6443', 'server', 'https'), /IPv4/);
});

test('what a URL parser would repair or drop is refused', () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['', /no server/],
    ['k8s.example:6443', /form https/],
    ['ftp://k8s.example', /https:\/\/ or http/],
    ['https://user:pw@k8s.example', /user name/],
    ['https://@k8s.example', /user name/],
    ['https://k8s.example?x=1', /query/],
    ['https://k8s.example/#', /query or fragment/],
    ['https://k8s.example/a/../b', /dot segments/],
    ['https://k8s.example/a/./b', /dot segments/],
    ['https://k8s.example/%2e%2E/b', /dot segments/],
    ['https://k8s.example/a%2fb', /encoded slashes/],
    ['https://k8s.example/a%5Cb', /encoded slashes/],
    ['https://k8s.example//a', /empty or dot/],
    ['https://k8s.example/a//', /empty or dot/],
    ['https://k8s.example/a%zz', /percent-encoded/],
    ['https://k8s.example/a"b', /percent-encoded/],
    ['https://k8s.example\\@evil', /backslash/],
    ['https://k8s.example\t', /control/],
    ['https://münchen.example', /punycode/],
    ['https://2130706433', /IPv4/],
    ['https://127.1', /IPv4/],
    ['https://0x7f.0.0.0x1', /IPv4/],
    ['https://256.1.1.1', /IPv4/],
    ['https://[::1', /form https/],
    ['https://[::g]', /IPv6/],
    ['https://[fe80::1%eth0]', /IPv6/],
    ['https://::1', /form https/],
    ['https://k8s.example:', /port/],
    ['https://k8s.example:0', /port/],
    ['https://k8s.example:065', /port/],
    ['https://k8s.example:65536', /port/],
    ['https://', /host name/],
    ['https://-a.example', /host name/],
    ['https://a..example', /host name/],
    ['https:k8s.example', /form https/],
  ];
  for (const [text, reason] of refused) {
    assert.throws(
      () => parseServer(text),
      (error) => error instanceof GatewayError && reason.test(error.message),
      text,
    );
  }
});

test('an accepted server means to a URL parser exactly what we read', () => {
  const part = fc.constantFrom(
    'a',
    'b.c',
    '1',
    '0x1',
    '..',
    '.',
    '%2e',
    '/',
    ':',
    '@',
    '?',
    '#',
    '[',
    ']',
    '::1',
    '\\',
    'é',
    '-',
    '_',
    '80',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const text = `https://${parts.join('')}`;
      let read;
      try {
        read = parseServer(text);
      } catch (error) {
        assert.ok(error instanceof GatewayError);
        return;
      }
      const url = new URL(text);
      assert.equal(url.hostname.replace(/^\[|\]$/g, ''), read.host.toLowerCase());
      assert.equal(Number(url.port || 443), read.port);
      assert.equal(url.pathname.replace(/\/$/, ''), read.basePath);
      assert.equal(url.username + url.password + url.search + url.hash, '');
    }),
    { numRuns: 500 },
  );
});

test('a proxy-url gives scheme, address and decoded password', () => {
  assert.deepEqual(parseProxy('http://proxy.example'), {
    scheme: 'http',
    host: 'proxy.example',
    port: 80,
    userinfo: undefined,
  });
  assert.deepEqual(parseProxy('https://u%40x:p%3Aw:d@proxy.example/'), {
    scheme: 'https',
    host: 'proxy.example',
    port: 443,
    userinfo: { username: 'u@x', password: 'p:w:d' },
  });
  assert.equal(parseProxy('socks5://10.0.0.1').port, 1080);
  assert.equal(parseProxy('socks5h://10.0.0.1:1').scheme, 'socks5');
});

test('a bad proxy-url is refused without showing its password', () => {
  for (const text of [
    'ftp://u:hunter22@p',
    'http://u:hunter22@p/x',
    'http://u:hunter22@p:0',
    'http://u:hunter22%zz@p',
    'u:hunter22@p',
  ]) {
    assert.throws(
      () => parseProxy(text),
      (error) => error instanceof GatewayError && !error.message.includes('hunter22'),
      text,
    );
  }
});
