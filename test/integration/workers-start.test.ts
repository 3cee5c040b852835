// How a gateway with two workers starts: with a mistake that only a worker reads, and for one person alone.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import { startMember } from '../site/member.ts';
import type { Member } from '../site/member.ts';
import { openRaw, requestBytes } from '../site/raw-client.ts';
import { kubeconfigText } from '../site/site.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const folder = tempDir('workers-start');
const kubeconfig = join(folder, 'kubeconfig.yaml');
const workers = ['--workers', '2'];
let member: Member;

before(async () => {
  member = await startMember(await makeTestAuthority());
  const server = `https://127.0.0.1:${member.port}`;
  writeFileSync(kubeconfig, kubeconfigText([{ name: 'm1', server, ca: member.ca, token: 'mine' }]));
});
after(() => {
  member.close();
});

test('a mistake in a file is told as by one process, and ends the gateway with 2', async () => {
  const rules = join(folder, 'rules.yaml');
  writeFileSync(rules, 'rules: 5\n');
  const users = [{ token: 't', name: 'alice' }];
  const args = ['--authorization-rules', rules];
  const reported = async (more: readonly string[]): Promise<string> => {
    try {
      await (await startGatewayProcess({ kubeconfigs: [kubeconfig], users, args: [...args, ...more] })).stop('SIGKILL');
    } catch (error) {
      return (error as Error).message
        .split('\n')
        .filter((line) => !line.startsWith('{'))
        .join('\n');
    }
    return assert.fail('it serves');
  };
  const one = await reported([]);
  assert.match(one, /ended with 2[^]*rules\.yaml/);
  assert.equal(await reported(workers), one);
});

test('one person has one token at both workers, and the rights of the kubeconfig', async () => {
  const gateway = await startGatewayProcess({
    kubeconfigs: [kubeconfig],
    users: [],
    args: [...workers, '--identity', 'self'],
  });
  try {
    const token = readFileSync(join(gateway.dataDir, 'self.token'), 'utf8').trim();
    const clients = [0, 1].map(() => openRaw({ port: gateway.port, ca: gateway.caPem }));
    for (const client of await Promise.all(clients)) {
      client.send(requestBytes('GET /clusters/m1/proxy/api/v1/pods', [`Authorization: Bearer ${token}`]));
      assert.equal((await client.answer()).status, 200);
      const { values } = member.requests.at(-1)!;
      assert.deepEqual([values('authorization'), values('impersonate-user')], [['Bearer mine'], []]);
      client.close();
    }
  } finally {
    assert.equal(await gateway.stop('SIGTERM'), 0);
  }
});
