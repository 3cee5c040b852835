import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environmentProxy, environmentProxyOf } from './environment-proxy.ts';

const https = { scheme: 'https', host: 'api.corp.example', port: 6443 } as const;

test('the variable of the scheme names the proxy, and the lower-case one counts first', () => {
  assert.equal(environmentProxy(https, { HTTPS_PROXY: 'http://a:1' }), 'http://a:1');
  assert.equal(environmentProxy(https, { HTTPS_PROXY: 'http://a:1', https_proxy: 'socks5://b:2' }), 'socks5://b:2');
  assert.equal(environmentProxy(https, { https_proxy: '', HTTPS_PROXY: 'a:1' }), 'http://a:1');
  assert.equal(environmentProxy({ ...https, scheme: 'http' }, { HTTPS_PROXY: 'a:1' }), undefined);
  assert.equal(environmentProxy({ ...https, scheme: 'http' }, { HTTP_PROXY: 'a:1' }), 'http://a:1');
  for (const none of [{}, { HTTPS_PROXY: '' }, { HTTP_PROXY: 'a:1' }, { ALL_PROXY: 'a:1' }])
    assert.equal(environmentProxy(https, none), undefined);
});

test('NO_PROXY is read as Go reads it', () => {
  const names = {
    excepts: [
      '*',
      'corp.example',
      '.corp.example',
      '*.corp.example',
      'example',
      ' API.CORP.EXAMPLE , x',
      'x,,example:6443',
    ],
    leaves: [
      '',
      'orp.example',
      '.api.corp.example',
      'corp.example:443',
      '10.0.0.0/8',
      '*rp.example',
      ':6443',
      'a/8',
      '.',
    ],
  };
  const addresses = {
    excepts: ['10.0.0.0/8', '10.1.2.3', '10.1.2.3:6443', '0.0.0.0/0', '::ffff:10.0.0.0/104', 'x, 10.1.2.3'],
    leaves: ['10.1.2.3:443', '10.1.2.4', '10.0.0.0/33', 'fd00::/8', '2.3', '.2.3'],
  };
  const sixes = {
    excepts: ['fd00::/8', 'fd00::1', '[fd00::1]:6443'],
    leaves: ['[fd00::1]', '[fd00::1]:80', '::1', '::/129'],
  };
  for (const [host, { excepts, leaves }] of [
    ['api.corp.example', names],
    ['10.1.2.3', addresses],
    ['fd00::1', sixes],
  ] as const) {
    const found = (entry: string): string | undefined =>
      environmentProxy({ ...https, host }, { HTTPS_PROXY: 'http://p', NO_PROXY: entry });
    for (const entry of excepts) assert.equal(found(entry), undefined, `${host} ${entry}`);
    for (const entry of leaves) assert.equal(found(entry), 'http://p', `${host} ${entry}`);
  }
});

test('this machine is never reached by a proxy', () => {
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
    assert.equal(environmentProxy({ ...https, host }, { HTTPS_PROXY: 'http://p' }), undefined, host);
  for (const [url, proxy] of [
    ['https://[::1]:6443/x', undefined],
    ['https://[fd00::1]', 'http://p'],
    ['https://issuer.example', 'http://p'],
  ] as const)
    assert.equal(environmentProxyOf(new URL(url), { HTTPS_PROXY: 'p', NO_PROXY: 'issuer.example:80' }), proxy, url);
});
