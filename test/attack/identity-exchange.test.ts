// Rules of identity exchange under attack: whatever a caller sends, over every transport, the member sees whom the
// operator's rules name, and never the caller's own say.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import type { MemberRequest } from '../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const folder = tempDir('exchange');
const file = join(folder, 'exchange.yaml');
const names = Array.from({ length: 20 }, (_, i) => `user-${i}`);
let site: Site;

before(async () => {
  const rule = (source: object, target: object) => ({ type: 'StaticMappingIdentityExchanger', source, target });
  const rules = [
    rule({ user: 'alice' }, { user: 'mapped', groups: ['member-group'] }),
    rule({ groupPattern: '^admins$' }, { user: 'root' }),
    ...names.map((user, i) => rule({ user, cluster: i % 2 === 0 ? 'm1' : 'm2' }, { user: `mapped-${user}` })),
  ];
  writeFileSync(file, JSON.stringify({ spec: { clientIdentityExchanger: { rules } } }));
  site = await startSite({
    members: 2,
    users: ['alice', 'bob', ...names].map((name) => ({
      token: `${name}-token`,
      name,
      uid: `${name}-uid`,
      groups: ['dev'],
    })),
    config: { identityExchange: file },
  });
});

after(() => {
  site.close();
});
afterEach(() => {
  for (const { requests } of site.members) requests.splice(0);
});

const bearer = (name: string): string => `Authorization: Bearer ${name}-token`;
const path = (cluster = 'm1'): string => `/clusters/${cluster}/proxy/api/v1/namespaces/default/pods`;
const execPath = `${path()}/web/exec?command=id`;

/** Everything a member was told about identity in one request, as lines. */
function identityOf(request: MemberRequest | undefined): readonly string[] {
  const found: string[] = [];
  const headers = request?.headers ?? [];
  for (let i = 0; i < headers.length; i += 2) {
    if (/^(?:impersonate|x[-_]remote)/i.test(headers[i]!)) found.push(`${headers[i]}: ${headers[i + 1]}`);
  }
  return found;
}
const mapped = ['Impersonate-User: mapped', 'Impersonate-Group: member-group'];

test('naming the identity headers in Connection takes none of them away (ATT-02)', async () => {
  for (const lines of [
    ['Connection: Impersonate-User, Impersonate-Group, Authorization'],
    ['Connection: close', 'Connection: impersonate-user', 'Connection: impersonate-group'],
  ]) {
    const answer = await exchange(site, requestBytes(`GET ${path()}`, [bearer('alice'), ...lines]));
    assert.equal(answer.status, 200, answer.body);
    assert.deepEqual(identityOf(site.members[0]!.requests.pop()), mapped);
  }
});

test('a caller cannot choose a rule by sending its source (ATT-03, ATT-04)', async () => {
  for (const forged of ['X-Remote-User: alice', 'X-Remote-Group: admins', 'X_Remote_Group: admins']) {
    const answer = await exchange(site, requestBytes(`GET ${path()}`, [bearer('bob'), forged]));
    assert.equal(answer.status, 200, answer.body);
    assert.deepEqual(identityOf(site.members[0]!.requests.pop()), [
      'Impersonate-User: bob',
      'Impersonate-Group: dev',
      'Impersonate-Uid: bob-uid',
    ]);
  }
  for (const forged of ['Impersonate-Group: admins', 'Impersonate-User: alice', 'Impersonate_User: alice']) {
    const answer = await exchange(site, requestBytes(`GET ${path()}`, [bearer('bob'), forged]));
    assert.ok(answer.status === 403 || answer.status === 400, `answered ${answer.status}`);
    assert.equal(site.upstream(), 0);
  }
});

test('an upgrade goes out as the mapped user', async () => {
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${execPath}`, [bearer('alice'), ...upgradeLines('websocket')]));
  const request = await site.members[0]!.request(0);
  assert.deepEqual(identityOf(request), mapped);
  client.close();
});

test('HTTP/2 goes out as the mapped user', async () => {
  const session = await openHttp2(site);
  const answer = await http2Exchange(session, http2Headers('GET', path(), ['authorization', 'Bearer alice-token']));
  assert.equal(answer.status, 200);
  assert.deepEqual(identityOf(site.members[0]!.requests[0]), mapped);
  session.close();
});

test('of many users at once, each is who the rules of that cluster say, on the first request and on the next (ATT-24, ATT-36)', async () => {
  for (let round = 0; round < 2; round++) {
    await Promise.all(
      names.flatMap((name) =>
        ['m1', 'm2'].map((cluster) => exchange(site, requestBytes(`GET ${path(cluster)}/of-${name}`, [bearer(name)]))),
      ),
    );
  }
  site.members.forEach(({ requests }, member) => {
    assert.equal(requests.length, names.length * 2);
    for (const request of requests) {
      const name = /of-(user-\d+)$/.exec(request.target)![1]!;
      const isMapped = Number(name.slice(5)) % 2 === member;
      const expected = isMapped
        ? [`Impersonate-User: mapped-${name}`]
        : [`Impersonate-User: ${name}`, 'Impersonate-Group: dev', `Impersonate-Uid: ${name}-uid`];
      assert.deepEqual(identityOf(request), expected);
    }
  });
});
