import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';
import path from 'node:path';
import { it } from 'node:test';

import { parse } from 'yaml';

import { auditMark, readAudit, waitForAudit } from './audit.ts';
import { createAuthority } from '../pretend/certificates.ts';
import { createMemberFiles } from './member-files.ts';
import { sumMetric } from './requests.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const folder = tempDir('files');

it('a certificate carries user, groups and names, and only its own authority has signed it', async () => {
  const [authority, other] = await Promise.all([createAuthority('one'), createAuthority('two')]);
  const pair = await authority.issue({
    commonName: 'ann',
    organizations: ['g1', 'g2'],
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const certificate = new X509Certificate(pair.certPem);
  assert.equal(certificate.subject, 'O=g1\nO=g2\nCN=ann');
  assert.equal(certificate.checkIP('127.0.0.1'), '127.0.0.1');
  assert.equal(certificate.checkHost('localhost'), 'localhost');
  assert.ok(certificate.verify(new X509Certificate(authority.certPem).publicKey));
  assert.ok(!certificate.verify(new X509Certificate(other.certPem).publicKey));
});

it('a member’s kubeconfigs are private, name the context after the member, and give the gateway a token only', async () => {
  const files = await createMemberFiles(folder, 'm1', 12345);
  const text = await readFile(files.gatewayKubeconfig, 'utf8');
  const kubeconfig = parse(text) as { 'current-context': string; users: { user: object }[] };
  assert.equal(kubeconfig['current-context'], 'm1');
  assert.deepEqual(kubeconfig.users[0]?.user, { token: files.gatewayToken });
  const tokens = await readFile(files.file('tokens.csv'), 'utf8');
  assert.match(tokens, /^[\w-]+,portcullis-gateway,uid-portcullis-gateway$/m);
  assert.match(tokens, /^[\w-]+,alice,uid-alice,"team-a,developers"$/m);
  assert.doesNotMatch(tokens, /portcullis-gateway.*system:masters/);
});

it('the audit reader skips what was before the mark and a line that is still being written', async () => {
  const file = path.join(folder, 'audit.log');
  const line = (id: string): string =>
    `${JSON.stringify({ auditID: id, verb: 'get', user: {}, requestURI: `/${id}` })}\n`;
  assert.deepEqual(await readAudit(file), []);
  await appendFile(file, line('a'));
  const mark = await auditMark(file);
  await appendFile(file, line('b') + line('ü') + line('d').slice(0, 10));
  assert.deepEqual(
    (await readAudit(file, mark)).map((event) => event.auditID),
    ['b', 'ü'],
  );
  await assert.rejects(
    waitForAudit(file, (event) => event.auditID === 'd', { mark, timeoutMs: 0 }),
    /0 of 1 audit events.*\n {2}get \/b/,
  );
});

it('a metric is the sum of the samples that carry the labels, whatever else they carry', () => {
  const text = [
    '# TYPE requests_total counter',
    'requests_total{verb="GET",code="200",path="a\\"b"} 2',
    'requests_total{code="201",verb="GET"} 3',
    'requests_total{code="201",verb="POST"} 5',
    'requests_total_other{verb="GET"} 100',
    'up 1',
  ].join('\n');
  assert.equal(sumMetric(text, 'requests_total', { verb: 'GET' }), 5);
  assert.equal(sumMetric(text, 'requests_total'), 10);
  assert.equal(sumMetric(text, 'requests_total', { path: 'a\\"b' }), 2);
  assert.equal(sumMetric(text, 'up'), 1);
  assert.equal(sumMetric(text, 'absent'), 0);
});
