// Clusterpedia's own test cases of requests that go past the index to the cluster itself, over HTTP, by their numbers
// (docs/reference/clusterpedia-cases.md), on objects that index-peer-objects.ts and index-peer-queries.ts seed. What
// comes from a cluster looks as what comes from the index but for the annotation that names the cluster.
import assert from 'node:assert/strict';
import { request } from 'node:https';
import { test } from 'node:test';
import type { Answer, IndexedList, IndexSite } from './index-site.ts';

const base = '/apis/clusterpedia.io/v1beta1/resources';
const annotation = 'shadow.clusterpedia.io/cluster-name';

/** Registers them. @param site the one of the file, once it runs */
export function testForwardCases(site: () => IndexSite): void {
  const get = (path: string): Promise<Answer> => site().ask(base + path);
  /** Of a WebSocket's request, which is ended at once. */
  const upgradeStatus = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: 'Bearer admin-token',
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-protocol': 'v5.channel.k8s.io',
      };
      const asked = request(site().gateway.url + base + path, { headers, rejectUnauthorized: false });
      asked.once('upgrade', (answer, socket) => resolve((socket.destroy(), answer.statusCode!)));
      asked.once('response', (answer) => resolve((answer.resume(), answer.statusCode!)));
      asked.once('error', reject).end();
    });

  test('the forward label asks the cluster itself, with the rest of the selector (CP-130 to CP-136)', async () => {
    const F = 'search.clusterpedia.io/forward';
    const asked = (selector: string, cluster = '/clusters/alpha'): Promise<Answer> =>
      get(`${cluster}/api/v1/namespaces/ns-1/configmaps?labelSelector=${encodeURIComponent(selector)}`);
    const isLive = (answer: Answer): boolean => {
      assert.equal(answer.status, 200, answer.text);
      // Only what comes from the index names its cluster.
      const marks = answer.json<IndexedList>().items.map(({ metadata }) => metadata.annotations?.[annotation]);
      assert.equal(new Set(marks).size, 1, 'some objects are expected');
      return marks[0] === undefined;
    };
    const names1 = (answer: Answer): string[] => answer.json<IndexedList>().items.map(({ metadata }) => metadata.name);
    for (const selector of ['', 'key1=value1', `key1=value1,${F}-something!=true`])
      assert.ok(!isLive(await asked(selector)), selector);
    for (const selector of [F, `${F}=true`]) assert.ok(isLive(await asked(selector)), selector);
    for (const selector of [
      `${F},key1=value1,key2=value2`,
      `key1=value1,key2=value2,${F}`,
      `key1=value1,${F}=true,key2=value2`,
      `key1 in (value1,other),${F},key2!=other`,
    ]) {
      const answer = await asked(selector);
      assert.ok(isLive(answer), selector);
      assert.deepEqual(names1(answer), ['name-1'], selector);
    }
    for (const selector of [',,,', `a b,${F}`]) assert.equal((await asked(selector)).status, 400, selector);
    assert.equal((await asked(F, '')).status, 400, 'without a cluster there is nobody to ask');
    const byHeader = (path: string, value = 'true'): Promise<Answer> =>
      site().ask(base + path, 'admin', { headers: { 'x-clusterpedia-forward': value } });
    const configMaps = 'api/v1/namespaces/ns-1/configmaps';
    assert.ok(isLive(await byHeader(`/clusters/alpha/${configMaps}`)));
    assert.ok(!isLive(await byHeader(`/clusters/alpha/${configMaps}`, 'false')));
    const one = (await byHeader(`/clusters/alpha/${configMaps}/name-1`)).json<IndexedList['items'][number]>();
    assert.deepEqual([one.metadata.name, one.metadata.annotations?.[annotation]], ['name-1', undefined]);
    assert.equal((await byHeader(`/${configMaps}`)).status, 400);
  });

  test('an allowed subresource is asked of the cluster as the caller, another one is refused (CP-137 to CP-140)', async () => {
    const pod = '/clusters/alpha/api/v1/namespaces/own-1/pods/talks';
    const log = await get(`${pod}/log`);
    const direct = await site().ask(`/clusters/alpha/proxy${pod.slice('/clusters/alpha'.length)}/log`);
    assert.deepEqual([log.status, log.text], [direct.status, direct.text]);
    assert.equal(log.status, 200, log.text);
    const refused = await site().ask(`${base}${pod}/log`, 'nobody');
    assert.equal(refused.status, 403);
    assert.match(refused.text, /User \\"nobody\\" cannot get resource \\"pods\/log\\"/);
    assert.equal(await upgradeStatus(`${pod}/exec?command=sh&stdout=1`), 101);
    assert.equal(await upgradeStatus(`${pod}/attach?stdout=1`), 405);
    for (const path of [`${pod}/attach`, `${pod}/portforward`, '/clusters/alpha/api/v1/nodes/web/proxy']) {
      const answer = await get(path);
      assert.equal(answer.status, 405, path);
      assert.match(answer.text, /--allowed-proxy-subresources/);
    }
    assert.equal((await get('/api/v1/namespaces/own-1/pods/talks/log')).status, 405, 'without a cluster');
  });
}
