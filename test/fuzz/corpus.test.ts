import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { difference } from './comparison.ts';
import { readConnection } from './connection.ts';
import { runCampaign, timedCheck } from './campaign.ts';
import { readCorpus } from './corpus.ts';
import { requestsName } from './requests/campaign.ts';
import type { GoRequest, Verdict } from './oracle.ts';
import { targets, wholeShare } from './targets/all.ts';
import { must } from './target.ts';
import type { FuzzTarget } from './target.ts';
import { mutatedTexts } from './mutations.ts';

for (const target of targets) {
  test(`every kept input of ${target.name} is read or refused as it should be`, () => {
    const inputs = readCorpus(target.name);
    assert.ok(inputs.length >= 3);
    for (const input of inputs) timedCheck(target, input);
  });
}

test('a few new cases of each parser, the same in every run', async () => {
  for (const target of targets) {
    const { findings } = await runCampaign(target, Math.ceil(target.share / 2000), 64, undefined);
    assert.deepEqual(findings, []);
  }
});

test('the shares of the targets make a million, and each has a corpus', () => {
  assert.equal(
    targets.reduce((sum, { share }) => sum + share, 0),
    wholeShare,
  );
  const files = globSync('corpus/*.jsonl', { cwd: import.meta.dirname }).map((file) => basename(file, '.jsonl'));
  assert.deepEqual(files.toSorted(), [...targets.map(({ name }) => name), requestsName].toSorted());
});

test('a case in which something does not hold ends the run, and is told with its seed and made small', async () => {
  const broken: FuzzTarget<string> = {
    name: 'http1-connection',
    share: 0,
    slowMs: 40,
    arbitrary: (corpus) => mutatedTexts(corpus, ['\n', '\r\n', 'a']),
    check(input) {
      const lines = input.split(/\r?\n/);
      must(lines.length === input.split('\r\n').length, 'a bare LF ended a line');
      return undefined;
    },
  };
  const { findings } = await runCampaign(broken as FuzzTarget<string> as unknown as FuzzTarget, 2000, 1, undefined);
  assert.equal(findings.length, 1);
  assert.match(findings[0]!, /http1-connection \(seed 1\): a bare LF ended a line/);
  assert.ok(findings[0]!.length < 700, findings[0]!);
});

test('the fuzzer measures a slow case ten times before it is one', () => {
  let readings = 0;
  // Both parts: how the kernel divides them between user and system is rough.
  const spin = (untilMs: number): void => {
    const from = process.threadCpuUsage();
    for (let usedMs = 0; usedMs < untilMs;) {
      const { user, system } = process.threadCpuUsage(from);
      usedMs = (user + system) / 1000;
    }
  };
  const slow = (calm: number): FuzzTarget<string> => ({
    name: 'slow',
    share: 0,
    slowMs: 20,
    arbitrary: () => mutatedTexts([], ['a']),
    check() {
      readings++;
      if (readings !== calm) spin(30);
      return undefined;
    },
  });
  assert.throws(() => timedCheck(slow(-1), ''), /slow: \d+ ms of CPU at least, 10 times/);
  assert.equal(readings, 11);
  readings = 0;
  timedCheck(slow(3), '');
  assert.equal(readings, 3);
});

function goRequest(parts: Partial<GoRequest>): GoRequest {
  const info = {
    isResource: true,
    verb: 'list',
    apiGroup: '',
    apiVersion: 'v1',
    namespace: '',
    resource: 'pods',
    subresource: '',
    name: '',
    parts: ['pods'],
  };
  const target = '/api/v1/pods';
  const user = { name: 'a', uid: '', groups: [], extra: {} };
  return { method: 'GET', target, path: target, host: 'a', headers: { 'X-A': ['b'] }, body: '', info, user, ...parts };
}

test('what Go reads in another way is a difference: meaning, framing, one request more, one less', () => {
  const bytes = Buffer.from('GET /api/v1/pods HTTP/1.1\r\nHost: a\r\nX-A: b\r\n\r\n');
  const ours = readConnection(bytes);
  const reported = (...requests: readonly GoRequest[]): string | undefined => difference(ours, { requests } as Verdict);
  const same = goRequest({});
  assert.equal(reported(same), undefined);
  assert.match(reported(goRequest({ method: 'PUT' }))!, /method is "GET" to us and "PUT" to Go/);
  assert.match(reported(goRequest({ body: 'x' }))!, /body is "" to us/);
  assert.match(reported(goRequest({ headers: {} }))!, /headers is/);
  assert.match(reported(goRequest({ path: '/api' }))!, /path is/);
  assert.match(
    reported(goRequest({ info: { ...same.info, verb: 'watch' } }))!,
    /verb is "list" to us and "watch" to Go/,
  );
  assert.match(reported(goRequest({ info: { ...same.info, namespace: 'b' } }))!, /namespace is/);
  assert.match(reported(same, same)!, /Go sees 1 requests more/);
  assert.match(reported()!, /Go refuses request 0, which we accept/);
});
