// What real clients see of an answer that comes before their body does, over HTTP/2: the Status, every time. curl and
// Go's client send 1 MiB to paths that are refused for who asks, for what they may not, for too much of it, and for how
// often.
// Landing tier: a refused request with a body is answered to curl and Go.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { http2Headers, openHttp2, openStream } from '../../site/http2-client.ts';
import { startSite } from '../../site/site.ts';
import type { Site } from '../../site/site.ts';
import { ensureBinaries } from '../../controlplane/build.ts';

const times = 100;
const mebibyte = 1024 * 1024;
const pods = '/clusters/m1/proxy/api/v1/namespaces/default/pods';
const toAll = '/clusters/*/proxy/api/v1/namespaces/default/pods?clusterSelector=!absent';

/** What a client made of one try: the whole text of the answer, or its own words. */
type Client = (site: Site, refused: Refused) => Promise<readonly string[]>;

interface Refused {
  readonly code: number;
  readonly method: string;
  readonly path: string;
  readonly token: string;
  readonly mebibytes?: number;
}

const refusals: readonly Refused[] = [
  { code: 401, method: 'POST', path: pods, token: 'unknown' },
  { code: 403, method: 'POST', path: pods, token: 'bob-token' },
  // A write to many clusters is held until it is whole, so it may have 3 MiB.
  { code: 413, method: 'POST', path: toAll, token: 'alice-token', mebibytes: 4 },
  { code: 429, method: 'POST', path: pods, token: 'carol-token' },
];

async function open(t: TestContext): Promise<Site> {
  const site = await startSite({
    users: ['alice', 'bob', 'carol'].map((name) => ({ token: `${name}-token`, name })),
    rules: ['alice', 'carol'].map((name) => ({
      subjects: [{ kind: 'User', name }],
      clusters: ['*'],
      verbs: ['*'],
      apiGroups: ['*'],
      resources: ['*'],
    })),
    // The two requests of carol stay for the whole test, however long a busy machine makes it.
    config: {
      firstByteTimeoutSeconds: 600,
      maxUserRequestsInflight: 1,
      maxUserRequestsQueued: 1,
      requestQueueTimeout: '10m',
    },
  });
  t.after(() => site.close());
  // One request of carol that the member never answers, and one that waits behind it.
  site.members[0]!.answer = () => undefined;
  const session = await openHttp2(site);
  t.after(() => session.destroy());
  const hold = (): unknown =>
    openStream(session, http2Headers('GET', '/clusters/m1/proxy/api/v1/pods', ['authorization', 'Bearer carol-token']));
  hold();
  await site.members[0]!.request(0);
  hold();
  return site;
}

async function output(command: string, args: readonly string[], input: string): Promise<string> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let text = '';
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece));
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0 ? text : `${command} ended with ${code}: ${said.trim()}`;
}

const curl: Client = async (site, { method, path, token, mebibytes = 1 }) => {
  const file = join(site.folder, 'body');
  const ca = join(site.folder, 'ca.crt');
  writeFileSync(file, Buffer.alloc(mebibytes * mebibyte));
  writeFileSync(ca, site.ca);
  const outcomes: string[] = [];
  const args = [
    '--silent',
    '--show-error',
    '--http2',
    '--cacert',
    ca,
    '--request',
    method,
    '--data-binary',
    `@${file}`,
  ];
  const headers = ['--header', `Authorization: Bearer ${token}`, '--header', 'Content-Type: application/json'];
  for (let i = 0; i < times; i++)
    outcomes.push(await output('curl', [...args, ...headers, `https://127.0.0.1:${site.port}${path}`], ''));
  return outcomes;
};

const go: Client = async (site, { method, path, token, mebibytes = 1 }) => {
  const { poster } = await ensureBinaries(['poster']);
  const url = `https://127.0.0.1:${site.port}${path}`;
  const task = { URL: url, Method: method, Token: token, CA: site.ca, Bytes: mebibytes * mebibyte, Times: times };
  const lines = (await output(poster!, [], JSON.stringify(task))).trim().split('\n');
  return lines.map((line) => {
    const { Proto: protocol, Body: body, Error: error } = JSON.parse(line) as Record<string, string>;
    return error === '' && protocol === 'HTTP/2.0' ? body! : `${protocol} ${error} ${body}`;
  });
};

for (const [name, client] of [
  ['curl', curl],
  ["Go's client", go],
] as const) {
  test(`${name} is told the Status of a request that is refused before its body has come, ${times} times of ${times}`, async (t) => {
    const site = await open(t);
    for (const refused of refusals) {
      const outcomes = await client(site, refused);
      const odd = outcomes.filter(
        (text) => !text.startsWith('{') || (JSON.parse(text) as { code: number }).code !== refused.code,
      );
      t.diagnostic(`${refused.code}: ${outcomes.length - odd.length} of ${outcomes.length}`);
      assert.deepEqual(
        [outcomes.length, odd.slice(0, 3)],
        [times, []],
        `${refused.code}: ${odd.length} of ${outcomes.length} differ`,
      );
    }
  });
}
