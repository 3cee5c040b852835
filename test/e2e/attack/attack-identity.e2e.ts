// Attacks on identity through a real hub and its aggregator, and directly with the same hub identities. What
// kube-apiserver refuses or takes away never reaches us, so beside each status stands what the raw member saw.
// Landing tier: a client cannot set identity headers.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import type { MemberRequest } from '../../site/member.ts';
import { openRaw, requestBytes, upgradeLines } from '../../site/raw-client.ts';
import { clusterSecret } from '../../hub/objects.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { clusterPath } from '../../hub/site.ts';
import { answerAll, bearer, exec, identityOf, pods, rawCredential, startAttackSite, ways } from './attack-site.ts';
import type { AttackSite } from './attack-site.ts';
import { eventually } from '../../site/polling.ts';
import { kubeconfigOf } from '../../pretend/kubeconfig.ts';

const tokens = ['websocket', 'SPDY/3.1'] as const;
const wire = (text: string): string => Buffer.from(text).toString('latin1');
let attack: AttackSite;
let alice: string;
let carol: string;

before(async () => {
  attack = await startAttackSite();
  alice = bearer(attack.site);
  carol = bearer(attack.site, 'carol');
});
after(() => attack?.stop());
afterEach(() => {
  attack.raw.answer = answerAll;
  attack.taken();
});

function assertAlice(requests: readonly MemberRequest[], count: number): void {
  assert.equal(requests.length, count);
  const { groups } = attack.site.hub.users.alice;
  for (const request of requests) {
    const seen = identityOf(request);
    assert.deepEqual(seen.user, ['alice'], request.head);
    assert.deepEqual(
      seen.groups.filter((group) => group !== 'system:authenticated'),
      groups,
      request.head,
    );
    assert.deepEqual(request.values('authorization'), [`Bearer ${rawCredential}`]);
  }
}

for (const way of ways) {
  test(`Connection naming the injected headers takes none of them away (${way}) (ATT-02)`, async () => {
    for (const names of [
      'Impersonate-User, Impersonate-Group, Authorization',
      'impersonate-user',
      'X-Remote-User, X-Remote-Group',
    ]) {
      const plain = await attack.ask(way, requestBytes(`GET ${pods}`, [alice, `Connection: ${names}`]));
      assert.equal(plain.status, 200, names);
      for (const token of tokens) {
        const lines = [alice, ...upgradeLines(token).slice(1), `Connection: Upgrade, ${names}`, `Connection: ${names}`];
        const answer = await attack.ask(way, requestBytes(`GET ${exec}`, lines));
        assert.ok([400, 403].includes(answer.status), `${token} ${names}: ${answer.status}`);
      }
      const requests = attack.taken();
      assert.ok(requests.length >= 1);
      assertAlice(requests, requests.length);
      for (const { values } of requests) {
        assert.deepEqual(values('connection'), values('upgrade').length > 0 ? ['Upgrade'] : []);
      }
    }
  });

  test(`impersonation headers without the right, or of no known name, are refused, 0 upstream (${way}) (ATT-03)`, async () => {
    for (const lines of [
      ['Impersonate-User: carol'],
      ['impersonate-user: carol'],
      ['Impersonate-Group: system:masters'],
      ['Impersonate-Uid: 1'],
      ['Impersonate-Extra-scopes: all'],
      ['Impersonate-Foo: carol'],
      ['Impersonate-User: '],
      ['Impersonate-User: alice', 'Impersonate-Group: system:masters'],
    ]) {
      const statuses = await attack.everyTransport(way, [alice, ...lines]);
      assert.ok(
        statuses.every((status) => [400, 403, 500].includes(status)),
        `${lines.join()}: ${statuses.join()}`,
      );
      assert.equal(attack.taken().length, 0, lines.join());
    }
  });

  test(`with the right, the member sees whom the caller acts as, and nobody else (${way}) (ATT-03)`, async () => {
    const statuses = await attack.everyTransport(way, [
      carol,
      'Impersonate-User: dave',
      'Impersonate-Group: attackers',
    ]);
    assert.deepEqual(statuses, [200, 200, 403, 403]);
    const seen = attack.taken();
    assert.equal(seen.length, 4);
    for (const request of seen) {
      assert.deepEqual(identityOf(request).user, ['dave']);
      assert.doesNotMatch(request.head, /carol/);
    }
  });

  test(`headers of a front proxy from a caller say nothing, and no credential of the caller goes on (${way}) (ATT-04, ATT-31)`, async () => {
    const secrets = [attack.site.hub.users.alice.token, 'cookie-secret', 'proxy-secret', 'csrf-secret', 'forged-name'];
    const lines = [
      alice,
      'X-Remote-User: forged-name',
      'X-Remote-Group: system:masters',
      'X-Remote-Uid: 0',
      'X-Remote-Extra-A: forged-name',
      'Cookie: session=cookie-secret',
      'Proxy-Authorization: Basic proxy-secret',
      'X-CSRF-Token: csrf-secret',
    ];
    const from = attack.raw.bytes.map(({ length }) => length);
    assert.deepEqual(await attack.everyTransport(way, lines), [200, 200, 403, 403]);
    assertAlice(attack.taken(), 4);
    const bytes = attack.raw.bytes.map((text, index) => text.slice(from[index] ?? 0)).join('');
    for (const secret of [...secrets, 'X-Remote', 'system:masters']) {
      assert.ok(!bytes.toLowerCase().includes(secret.toLowerCase()), secret);
    }
  });

  test(`control characters and blanks in a name: refused, or taken off before anybody looks (${way}) (ATT-15, ATT-16)`, async () => {
    for (const name of ['a\rb', 'a\x00b', 'a\x7fb', 'a\x01b', wire('a\u0085b'), 'a\xffb']) {
      const lines = [carol, `Impersonate-User: ${name}`, 'Impersonate-Group: attackers'];
      const { status } = await attack.ask(way, requestBytes(`GET ${pods}`, lines));
      assert.ok([400, 401, 403, 500].includes(status), `${JSON.stringify(name)}: ${status}`);
    }
    assert.equal(attack.taken().length, 0);
    for (const name of [' dave ', '\tdave\t']) {
      const lines = [carol, `Impersonate-User: ${name}`, 'Impersonate-Group: attackers'];
      assert.equal((await attack.ask(way, requestBytes(`GET ${pods}`, lines))).status, 200);
      assert.deepEqual(identityOf(attack.taken()[0]!).user, ['dave']);
    }
  });

  test(`UTF-8 names, a group with a comma and 500 groups arrive exactly (${way}) (ATT-17, ATT-18)`, async () => {
    const groups = ['attackers', 'a,system:b', 'größe', ...Array.from({ length: 497 }, (_, i) => `group-${i}`)];
    const lines = [carol, 'Impersonate-User: jürgen 日本', ...groups.map((group) => `Impersonate-Group: ${group}`)].map(
      wire,
    );
    assert.deepEqual(await attack.everyTransport(way, lines), [200, 200, 403, 403]);
    const seen = attack.taken();
    assert.equal(seen.length, 4);
    for (const request of seen) {
      assert.deepEqual(identityOf(request).user, [wire('jürgen 日本')]);
      const without = identityOf(request).groups.filter((group) => group !== 'system:authenticated');
      assert.deepEqual(without, groups.map(wire));
    }
  });

  test(`reserved identities of the hub are refused, left off or renamed (${way}) (ATT-19)`, async () => {
    for (const lines of [
      ['Impersonate-User: system:node:n1', 'Impersonate-Group: attackers'],
      ['Impersonate-User: system:kube-scheduler', 'Impersonate-Group: attackers'],
      ['Impersonate-User: dave', 'Impersonate-Group: attackers', 'Impersonate-Group: system:nodes'],
      ['Impersonate-User: portcullis:probe', 'Impersonate-Group: attackers'],
    ]) {
      const statuses = await attack.everyTransport(way, [carol, ...lines]);
      assert.deepEqual([statuses, attack.taken().length], [[403, 403, 403, 403], 0], lines.join());
    }
    const masters = ['Impersonate-User: dave', 'Impersonate-Group: attackers', 'Impersonate-Group: system:masters'];
    assert.deepEqual(await attack.everyTransport(way, [carol, ...masters]), [200, 200, 403, 403]);
    for (const { head } of attack.taken()) assert.doesNotMatch(head, /masters/);
    const account = ['Impersonate-User: system:serviceaccount:a:b', 'Impersonate-Group: attackers'];
    assert.deepEqual(await attack.everyTransport(way, [carol, ...account]), [200, 200, 403, 403]);
    for (const request of attack.taken()) {
      assert.deepEqual(identityOf(request).user, ['cluster:hub:system:serviceaccount:a:b']);
    }
  });

  test(`tokens the hub does not know, empty or with words behind them log nobody in (${way}) (ATT-22)`, async () => {
    for (const value of [
      'Bearer ',
      'Bearer',
      'Bearer  x',
      'Bearer unknown',
      `Basic ${Buffer.from('alice:x').toString('base64')}`,
      'Negotiate x',
    ]) {
      const statuses = await attack.everyTransport(way, [`Authorization: ${value}`]);
      assert.ok(
        // Over HTTP/2 a value that ends in a blank is malformed: the stream is reset.
        statuses.every((status, i) => status === 401 || status === 403 || (i === 1 && status === 0)),
        `${value}: ${statuses.join()}`,
      );
    }
    assert.equal(attack.taken().length, 0);
  });

  test(`names of JavaScript's objects as clusters, queries and extra keys mean nothing (${way}) (ATT-35)`, async () => {
    for (const name of ['__proto__', 'constructor', 'prototype', 'toString']) {
      const { status } = await attack.ask(way, requestBytes(`GET ${clusterPath(name)}/api`, [alice]));
      assert.equal(status, 404, name);
      assert.equal(
        (await attack.ask(way, requestBytes(`GET ${pods}?${name}=1&watch[${name}]=true`, [alice]))).status,
        200,
      );
    }
    attack.taken();
    const extra = [
      carol,
      'Impersonate-User: dave',
      'Impersonate-Group: attackers',
      'Impersonate-Extra-__proto__: polluted',
    ];
    assert.deepEqual(await attack.everyTransport(way, extra), [200, 200, 403, 403]);
    for (const { values } of attack.taken()) assert.deepEqual(values('impersonate-extra-__proto__'), ['polluted']);
  });
}

test('a certificate of the hub’s client authority is its holder, whatever X-Remote-User says (ATT-05)', async () => {
  const { hub } = attack.site;
  const shown = { cert: hub.adminCertPem, key: hub.adminKeyPem };

  for (const way of ways) {
    const client = await openRaw(attack.endpoint(way), shown);
    client.send(requestBytes(`GET ${pods}`, ['X-Remote-User: forged', 'X-Remote-Group: forged']));
    assert.equal((await client.answer()).status, 200);
    client.close();
    const [seen] = attack.taken();
    assert.deepEqual(identityOf(seen!).user, ['admin'], way);
    assert.doesNotMatch(seen!.head, /forged|system:masters/, way);
  }
});

test('a cluster at the metadata address is refused through the hub as well (ATT-30)', async () => {
  const { site } = attack;
  const { hub } = site;
  await hub.apply(
    clusterSecret({
      name: 'metadata',
      url: 'https://169.254.169.254',
      caPem: attack.raw.ca,
      gatewayToken: 'x',
    } as Member),
  );
  for (const way of ways) {
    const path = `${clusterPath('metadata')}/latest/meta-data`;
    const body = await eventually('the cluster is known', async () => {
      const answer = await attack.ask(way, requestBytes(`GET ${path}`, [bearer(site)]));
      return answer.status === 503 ? answer.body : undefined;
    });
    assert.match(body, /AddressRefused/);
  }
});

test('a kubeconfig in a Secret of a real hub runs nothing and opens nothing (ATT-29)', async () => {
  const { hub, plane } = attack.site;
  const marker = join(plane.dir, 'was-run');
  const text = (user: object): string =>
    JSON.stringify(kubeconfigOf({ server: `https://127.0.0.1:${attack.raw.port}`, caPem: attack.raw.ca }, user));
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'touch',
    args: [marker],
    interactiveMode: 'Never',
  };
  const secrets = { 'runs-touch': text({ exec }), 'reads-file': text({ tokenFile: plane.member('hub').caFile }) };
  for (const [name, config] of Object.entries(secrets)) {
    const metadata = { name: `vc-${name}`, namespace: 'default' };
    await hub.apply({ apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, stringData: { config } });
    for (const way of ways) {
      const body = await eventually('the cluster is known', async () => {
        const answer = await attack.ask(way, requestBytes(`GET ${clusterPath(name)}/api`, [alice]));
        return answer.status === 503 ? answer.body : undefined;
      });
      assert.match(body, /InvalidConfiguration/);
    }
  }
  assert.ok(!existsSync(marker));
  assert.equal(attack.taken().length, 0);
});

test('after all this the log holds no credential (ATT-32)', () => {
  const { hub, gateway } = attack.site;
  const log = gateway.log();
  const secrets = [
    rawCredential,
    hub.users.alice.token,
    hub.users.carol.token,
    'cookie-secret',
    'proxy-secret',
    'csrf-secret',
  ];
  assert.ok(log.length > 0);
  for (const secret of secrets) assert.ok(!log.includes(secret), secret.slice(0, 8));
});
