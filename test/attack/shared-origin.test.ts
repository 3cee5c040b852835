// Below the gateway's own address all clusters share one origin, so a page that one of them serves must not act as a
// page of that origin: applications behind the API server's proxy, and whatever a hostile cluster calls a page.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { ConnectionOptions } from 'node:tls';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { answerEcho } from '../site/member.ts';
import { openRaw, requestBytes } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

const prefix = '/clusters/m1/proxy';
const service = '/api/v1/namespaces/a/services/web:80/proxy/index.html';
const applications = [service, '/api/v1/namespaces/a/pods/web/proxy/', '/api/v1/nodes/n1/proxy/logs/'];
let site: Site;

before(async () => {
  const users = [{ token: 'alice-token', name: 'alice' }];
  site = await startSite({ members: 1, users, config: { clusterDomain: 'clusters.test' } });
});
after(() => site.close());
afterEach(() => {
  site.members[0]!.answer = answerEcho;
});

/** The policies a browser gets with an answer, over HTTP/1.1 and HTTP/2, and the status. */
async function policies(path: string, headers: readonly string[], status = 200, host = 'gateway.test') {
  site.members[0]!.answer = (request) =>
    request.reply(status, headers, status === 304 ? '' : '<script>fetch("/")</script>');
  const options: ConnectionOptions = host === 'gateway.test' ? {} : { servername: host };
  const client = await openRaw(site, options);
  client.send(requestBytes(`GET ${path}`, ['Authorization: Bearer alice-token']).replace('gateway.test', host));
  const first = await client.answer();
  client.close();
  const session = await openHttp2(site, options);
  const list = http2Headers('GET', path, ['authorization', 'Bearer alice-token']);
  const second = await http2Exchange(
    session,
    list.map((text) => (text === 'gateway.test' ? host : text)),
  );
  session.destroy();
  assert.deepEqual([first.status, second.status], [status, status], path);
  const values = first.values('content-security-policy');
  assert.deepEqual(second.values('content-security-policy'), values);
  return values;
}

test('an application of a cluster is sandboxed on the origin that all clusters share, whatever it answers (ATT-50)', async () => {
  for (const path of applications) {
    for (const type of ['text/html', 'application/json', 'image/svg+xml', 'text/plain']) {
      assert.deepEqual(await policies(prefix + path, [`Content-Type: ${type}`]), ['sandbox'], `${path} ${type}`);
    }
    assert.deepEqual(await policies(prefix + path, [], 404), ['sandbox'], path);
    const moved = await policies(prefix + path, ['Location: login'], 302);
    assert.deepEqual(moved, ['sandbox'], path);
  }
  const aliased = `/apis/gateway.portcullis.io/v1alpha1/clusters/m1/proxy${service}`;
  assert.deepEqual(await policies(aliased, ['Content-Type: text/html']), ['sandbox']);
});

test('the application’s own policy stays beside the sandbox, and cannot take it away (ATT-50)', async () => {
  const own = "default-src 'self'; sandbox allow-scripts allow-same-origin";
  const sent = ['Content-Type: text/html', `Content-Security-Policy: ${own}`, 'content-security-policy: img-src *'];
  assert.deepEqual(await policies(prefix + service, sent), [own, 'img-src *', 'sandbox']);
  assert.deepEqual(
    await policies(prefix + service, [...sent, 'Connection: Content-Security-Policy']),
    ['sandbox'],
    'what a cluster calls its connection’s own takes nothing of ours along',
  );
});

test('a page that a cluster serves in place of an API answer is sandboxed too (ATT-50)', async () => {
  const api = `${prefix}/api/v1/namespaces/a/pods`;
  for (const type of [
    'text/html',
    'Text/HTML; charset=utf-8',
    'application/xhtml+xml',
    'image/svg+xml',
    'application/json, text/html',
    'application/jsonp',
    'text/plain,text/html',
    'text/javascript',
  ]) {
    assert.deepEqual(await policies(api, [`Content-Type: ${type}`]), ['sandbox'], type);
  }
  assert.deepEqual(await policies(api, []), ['sandbox'], 'a browser guesses what it is');
  const twice = ['Content-Type: application/json', 'Content-Type: text/html'];
  assert.deepEqual(await policies(api, twice), ['sandbox']);
  assert.deepEqual(await policies(api, twice.toReversed()), ['sandbox']);
});

test('an answer whose headers make a browser ask for more is sandboxed, and what outlives the answer is held back (ATT-50)', async () => {
  const api = `${prefix}/api/v1/namespaces/a/pods`;
  const json = 'Content-Type: application/json';
  for (const header of ['Refresh: 0; url=/clusters/m2/proxy/', 'link: </clusters/m2/proxy/>; rel=preload; as=fetch']) {
    assert.deepEqual(await policies(api, [json, header]), ['sandbox'], header);
  }
  const lasting = ['NEL: {"report_to":"x","max_age":9}', 'Report-To: {"group":"x","max_age":9,"endpoints":[]}'];
  assert.deepEqual(await policies(api, [json, ...lasting]), []);
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${api}`, ['Authorization: Bearer alice-token']));
  const { values } = await client.answer();
  client.close();
  assert.deepEqual([values('nel'), values('report-to')], [[], []]);
});

test('API answers stay as they are (ATT-50)', async () => {
  const api = `${prefix}/api/v1/namespaces/a/pods`;
  for (const type of [
    'application/json',
    'application/json;stream=watch',
    'application/vnd.kubernetes.protobuf;type=watch',
    'application/json; charset=utf-8',
    'application/yaml',
    'text/plain',
    'text/plain; version=0.0.4; charset=utf-8; escaping=underscores',
  ]) {
    assert.deepEqual(await policies(api, [`Content-Type: ${type}`]), [], type);
  }
  assert.deepEqual(await policies(`${prefix}/api/v1/services/web/proxy`, ['Content-Type: application/json']), []);
});

test('below --cluster-domain each cluster has an origin of its own, and its applications work as they are (ATT-50)', async () => {
  const own = 'Content-Security-Policy: img-src *';
  const found = await policies(service, ['Content-Type: text/html', own], 200, 'm1.clusters.test');
  assert.deepEqual(found, ['img-src *']);
});

test('no application of one cluster is reached under the name of all (ATT-50)', async () => {
  const client = await openRaw(site);
  site.members[0]!.answer = (request) => request.reply(200, ['Content-Type: text/html'], '<script>1</script>');
  client.send(requestBytes(`GET /clusters/*/proxy${service}`, ['Authorization: Bearer alice-token']));
  const { status, values, body } = await client.answer();
  client.close();
  assert.notEqual(status, 200);
  assert.deepEqual(values('content-type'), ['application/json']);
  assert.doesNotMatch(body, /<script>/);
});

test('what the index asks a cluster for is sandboxed, too: its paths are on the shared origin (ATT-50)', async () => {
  const metrics = '/apis/metrics.k8s.io/v1beta1/nodes';
  for (const path of [
    `/apis/clusterpedia.io/v1beta1/resources/clusters/m1${metrics}`,
    `/apis/search.portcullis.io/v1alpha1/indexes/default/proxy/clusters/m1${metrics}`,
  ]) {
    assert.deepEqual(await policies(path, ['Content-Type: text/html']), ['sandbox'], path);
    assert.deepEqual(await policies(path, ['Content-Type: application/json', 'Refresh: 0; url=/']), ['sandbox'], path);
    assert.deepEqual(await policies(path, ['Content-Type: application/json']), [], path);
  }
});
