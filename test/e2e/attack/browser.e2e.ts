// What web pages can do in a real browser whose user has a client certificate of the gateway: a stranger's page, an
// application behind services/proxy on the origin that all clusters share, and one on its cluster's own host. The
// members are pretend ones: what counts is what reaches them.
// Landing tier: an application of one cluster is no page of the others, in a real browser.
// Runs alone: a policy file below /etc is for every Chromium of the machine.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { authority, makeCertificate } from '../../../auth/x509/certificates.fixture.ts';
import { answerEcho } from '../../site/member.ts';
import { startSite } from '../../site/site.ts';
import type { Site } from '../../site/site.ts';
import { missingBrowser, startBrowser } from './chromium.ts';
import type { Browser } from './chromium.ts';
import { clientCertificate } from '../../site/client-certificate.ts';
import { newServer, type TestHttpServer } from '../../pretend/server.ts';

const dayMs = 24 * 60 * 60 * 1000;
const missing = missingBrowser();
const needsBrowser = { skip: missing ?? false };
const service = '/api/v1/namespaces/a/services/web/proxy/';
const pods = '/api/v1/namespaces/a/pods';
const preloaded = `/clusters/m2/proxy${pods}`;
let browser: Browser;
let site: Site;
let stranger: TestHttpServer;
/** The gateway's own address, and its address for one cluster. */
let shared: string;
let hostOf: (cluster: string) => string;
/** What the stranger's and the applications' pages hold. */
let page = '';

before(async () => {
  if (missing !== undefined) return;
  const valid = { validFromMs: Date.now() - dayMs, validToMs: Date.now() + dayMs };
  const users = await makeCertificate({ subject: [{ CN: ['users'] }], ...valid, extensions: authority() });
  const alice = await clientCertificate('alice', users);
  site = await startSite({
    members: 2,
    users: [{ token: 'bob-token', name: 'bob' }],
    clientCa: users.pem,
    config: { clusterDomain: 'clusters.test' },
  });
  for (const member of site.members) {
    member.answer = (request) => {
      if (request.values('upgrade').length > 0) request.reply(403, ['Content-Type: text/plain'], 'no');
      else if (request.method === 'GET' && request.target === service)
        request.reply(200, ['Content-Type: text/html'], page);
      else if (request.target.startsWith('/api/preloading'))
        request.reply(200, ['Content-Type: application/json', `Link: <${preloaded}>; rel=preload; as=fetch`], '{}');
      else answerEcho(request);
    };
  }
  stranger = await newServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page));
  shared = `https://127.0.0.1:${site.port}`;
  hostOf = (cluster) => `https://${cluster}.clusters.test:${site.port}`;
  browser = await startBrowser({
    ca: site.ca,
    shown: alice,
    sites: ['https://127.0.0.1', 'https://[*.]clusters.test'],
    localNames: ['*.test'],
  });
});

after(async () => {
  await browser?.close();
  await stranger?.close();
  site?.close();
});
afterEach(() => {
  for (const { requests } of site?.members ?? []) requests.splice(0);
});

const strangersUrl = (): string => `http://stranger.test:${stranger.port}/`;

/** As whom what reached the members, the browser's own icon requests left out. */
function reached(): string[] {
  return site.members.flatMap(({ requests }, i) =>
    requests
      .splice(0)
      .filter(({ target }) => target !== '/favicon.ico')
      .map(({ method, target, values }) => `m${i + 1} ${method} ${target} as ${values('impersonate-user').join()}`),
  );
}

/**
 * What a page tries, one after the other: fetch without Content-Type, an image, a WebSocket, one with a made-up token.
 * Resolves with what is not over after a minute. Side by side the browser would choose its certificate for several of
 * them, and each choice ends the other connections to that host: Chromium 156 then forgets an upload that was about to
 * begin, and its page waits for ever (ERR_NETWORK_CHANGED inside UPLOAD_DATA_STREAM_INIT in its NetLog).
 */
async function attempts(base: string): Promise<readonly string[]> {
  const exec = `${base.replace('https', 'wss')}${pods}/b/exec?command=sh`;
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('made-up').toString('base64url')}`;
  const opened = (protocols: readonly string[]): string =>
    `new Promise((done) => { const s = new WebSocket(${JSON.stringify(exec)}, ${JSON.stringify(protocols)}); s.onopen = s.onerror = s.onclose = done; })`;
  const tried = {
    fetch: `fetch(${JSON.stringify(base + pods)}, { method: 'POST', mode: 'no-cors', credentials: 'include', body: new Blob(['{}']) }).catch(() => {})`,
    image: `new Promise((done) => { const i = new Image(); i.onload = i.onerror = done; i.src = ${JSON.stringify(base + pods)}; })`,
    socket: opened(['v5.channel.k8s.io']),
    'socket with a token': opened(['v5.channel.k8s.io', token]),
  };
  const notOver: string[] = [];
  for (const [name, attempt] of Object.entries(tried)) {
    const late = 'new Promise((late) => setTimeout(late, 60_000, true))';
    if (await browser.evaluate(`Promise.race([${attempt}.then(() => false), ${late}])`)) notOver.push(name);
  }
  return notOver;
}

test(
  'an address that somebody types is served with the certificate of the browser (ATT-52)',
  needsBrowser,
  async () => {
    await browser.visit(`${shared}/clusters/m1/proxy${pods}`);
    assert.match(String(await browser.evaluate('document.body.innerText')), /"user":\["alice"\]/);
    await browser.visit(`${hostOf('m2')}${pods}`);
    assert.match(String(await browser.evaluate('document.body.innerText')), /"user":\["alice"\]/);
    assert.deepEqual(reached(), [`m1 GET ${pods} as alice`, `m2 GET ${pods} as alice`]);
  },
);

test('a stranger’s page reaches no cluster with the certificate of who reads it (ATT-52)', needsBrowser, async () => {
  page = '<p>nothing to see</p>';
  for (const base of [`${shared}/clusters/m1/proxy`, hostOf('m1')]) {
    await browser.visit(strangersUrl());
    assert.deepEqual({ base, notOver: await attempts(base) }, { base, notOver: [] });
    assert.deepEqual(reached(), [], base);
  }
});

test('a stranger’s links, forms and frames reach no cluster either (ATT-52)', needsBrowser, async () => {
  const target = `${shared}/clusters/m1/proxy${pods}`;
  page = `<a href="${target}">x</a><form method="post" action="${target}"><button>x</button></form><iframe src="${target}"></iframe>`;
  for (const selector of ['a', 'button']) {
    await browser.visit(strangersUrl());
    await browser.follow(selector);
    assert.match(String(await browser.evaluate('document.body.innerText')), /web page of another origin/, selector);
  }
  assert.deepEqual(reached(), []);
});

test('an application on the origin of all clusters acts on none of them (ATT-50)', needsBrowser, async () => {
  const other = `/clusters/m2/proxy${pods}`;
  page =
    `<img src="${other}?image"><form method="post" action="${other}?form"><button>x</button></form>` +
    `<script>const r = new XMLHttpRequest(); r.open('POST', '${other}?script', false); r.send('{}');</script>`;
  await browser.visit(`${shared}/clusters/m1/proxy${service}`);
  assert.deepEqual(reached(), [`m1 GET ${service} as alice`], 'the page came, and nothing from it');
  assert.equal(await browser.evaluate('document.querySelectorAll("img, form").length'), 2);
  assert.equal(await browser.evaluate('self.origin'), 'null');
});

test('headers of a cluster’s answer make the browser ask no other cluster (ATT-50)', needsBrowser, async () => {
  await browser.visit(`${shared}/clusters/m1/proxy/api/preloading`);
  // What the browser sends now comes after what the page made it send.
  await browser.visit(`${shared}/clusters/m2/proxy/api/last`);
  assert.deepEqual(reached(), ['m1 GET /api/preloading as alice', 'm2 GET /api/last as alice']);
});

test(
  'an application on its cluster’s own host works, and reaches no other cluster (ATT-50, ATT-52)',
  needsBrowser,
  async () => {
    page = '<p>app</p>';
    await browser.visit(`${hostOf('m1')}${service}`);
    assert.equal(await browser.evaluate('self.origin'), hostOf('m1'));
    const own = `fetch('data', { method: 'POST', body: '{}' }).then((answer) => answer.status)`;
    assert.equal(await browser.evaluate(own), 200);
    assert.deepEqual(reached(), [`m1 GET ${service} as alice`, `m1 POST ${service}data as alice`]);
    for (const base of [hostOf('m2'), `${shared}/clusters/m2/proxy`]) {
      assert.deepEqual({ base, notOver: await attempts(base) }, { base, notOver: [] });
      assert.deepEqual(reached(), [], base);
    }
    await browser.evaluate(
      `new Promise((done) => { const s = new WebSocket('${hostOf('m1').replace('https', 'wss')}${pods}/b/exec?command=sh', ['v5.channel.k8s.io']); s.onopen = s.onerror = done; })`,
    );
    assert.deepEqual(
      reached(),
      [`m1 GET ${pods}/b/exec?command=sh as alice`],
      'its own exec gets through to the cluster',
    );
  },
);
