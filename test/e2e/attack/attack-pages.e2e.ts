// What a browser says of the page behind a request arrives through a real hub's aggregator, which vouches for the user
// whatever the page: the answers are those of the direct way with a certificate. A bearer token that the hub has taken
// is the hub's word by the time it is here.
// Landing tier: web pages use nobody's certificate.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { requestBytes, upgradeLines } from '../../site/raw-client.ts';
import { answerAll, bearer, exec, identityOf, pods, startAttackSite } from './attack-site.ts';
import type { AttackSite } from './attack-site.ts';

let attack: AttackSite;
let alice: string;

before(async () => {
  attack = await startAttackSite();
  alice = bearer(attack.site);
});
after(() => attack?.stop());
afterEach(() => {
  attack.raw.answer = answerAll;
  attack.taken();
});

/** A POST and an exec over WebSocket through the hub. */
async function throughHub(lines: readonly string[]) {
  const post = await attack.ask('hub', requestBytes(`POST ${pods}`, [alice, 'Content-Length: 2', ...lines], '{}'));
  const upgrade = await attack.ask('hub', requestBytes(`GET ${exec}`, [alice, ...upgradeLines('websocket'), ...lines]));
  return { post, upgrade, taken: attack.taken() };
}

test('a page of another origin does nothing through the hub, upgrades included (ATT-52)', async () => {
  for (const lines of [
    ['Origin: https://evil.example'],
    ['Origin: null', 'Sec-Fetch-Site: cross-site'],
    ['Sec-Fetch-Site: same-site'],
    ['Origin: https://kubernetes.default.svc', 'Sec-Fetch-Site: cross-site'],
    ['Origin: https://kubernetes.default.svc', 'Origin: https://evil.example'],
  ]) {
    const { post, upgrade, taken } = await throughHub(lines);
    assert.deepEqual([post.status, upgrade.status, taken.length], [403, 403, 0], lines.join());
    assert.match(post.body, /web page of another origin/);
  }
});

test('programs are served through the hub, with an address of the hub as Origin or without any (ATT-52)', async () => {
  for (const lines of [[], ['Origin: https://kubernetes.default.svc'], ['Sec-Fetch-Site: same-origin']]) {
    const { post, taken } = await throughHub(lines);
    assert.equal(post.status, 200, lines.join());
    assert.deepEqual(taken.map(identityOf), [identityOf(taken[0]!), identityOf(taken[0]!)]);
    assert.deepEqual(taken[0]!.values('impersonate-user'), ['alice']);
  }
});

test('an application’s page comes through the hub with the sandbox beside its own policy (ATT-50)', async () => {
  attack.raw.answer = (request) =>
    request.reply(200, ['Content-Type: text/html', 'Content-Security-Policy: img-src *'], '<p>x</p>');
  const service = pods.replace('/pods', '/services/web/proxy/');
  const { status, values } = await attack.ask('hub', requestBytes(`GET ${service}`, [alice]));
  assert.deepEqual([status, values('content-security-policy')], [200, ['img-src *', 'sandbox']]);
});
