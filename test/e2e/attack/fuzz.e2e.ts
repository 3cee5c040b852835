// A million cases on the parsers, what we accept read by Go's net/http and Kubernetes' RequestInfoFactory as well. A
// comparison that never disagrees proves nothing, so Go is shown a reading of ours that is wrong, too.
// Landing tier: parsers refuse or read as Go does.
// Runs alone: the fuzzers keep both cores busy.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { difference } from '../../fuzz/comparison.ts';
import { readConnection } from '../../fuzz/connection.ts';
import { startOracle } from '../../fuzz/oracle.ts';
import type { Oracle, Verdict } from '../../fuzz/oracle.ts';
import { fuzz, reportText } from '../../fuzz/run.ts';
import { fuzzRequests, requestReportText } from '../../fuzz/requests/run.ts';
import { wholeShare } from '../../fuzz/targets/all.ts';
import { seedOfRun } from '../seed.ts';

/** All of them, about two and a half minutes of two cores; fewer where the machine is busy with something else. */
const cases = Number(process.env['PORTCULLIS_FUZZ_CASES'] ?? wholeShare);

let oracle: Oracle;

before(async () => {
  oracle = await startOracle();
});

after(() => oracle?.close());

async function verdictOf(text: string): Promise<Verdict> {
  const [verdict] = await oracle.ask([Buffer.from(text, 'latin1')]);
  return verdict!;
}

test('a million cases: no crash, nothing slow, nothing accepted that Go reads in another way', async (t) => {
  const seed = seedOfRun();
  t.diagnostic(`${cases} cases, seed ${seed}`);
  const report = await fuzz(cases, seed, true);
  for (const line of reportText(report).split('\n')) t.diagnostic(line);
  assert.deepEqual(report.findings, []);
  assert.equal(report.cases, cases);
  // Cases that nobody accepts would be no comparison.
  assert.ok(report.compared > cases / 10, `only ${report.compared} cases were read by Go`);
});

test('Go is a real server of net/http: it refuses, pipelines and decodes', async () => {
  const two = await verdictOf(
    'POST /api/v1/namespaces/a/pods HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n' +
      'GET /api/v1/watch/pods?watch=%31 HTTP/1.1\r\nHost: a\r\n\r\n',
  );
  assert.deepEqual(
    two.requests.map(({ method, body, info }) => [method, body, info.verb, info.resource]),
    [
      ['POST', 'x', 'create', 'pods'],
      ['GET', '', 'watch', 'pods'],
    ],
  );
  assert.match((await verdictOf('GET / HTTP/1.1\r\n\r\n')).refusal!, /400 Bad Request: missing required Host header/);
});

test('a reader that let a bare LF pass, or took a query in another way, would be found', async () => {
  const text = 'GET /api/v1/pods?watch=0 HTTP/1.1\r\nHost: a\r\nX-A: b\r\n\r\n';
  const ours = readConnection(Buffer.from(text));
  assert.equal(difference(ours, await verdictOf(text)), undefined);
  // What a reader that takes LF for CRLF, or `watch=0` for a watch, would have said of the bytes on the right.
  const asOneLine = await verdictOf(text.replace('\r\nX-A: b', '\nX-A: c'));
  assert.match(difference(ours, asOneLine) ?? '', /headers is/);
  assert.match(difference(ours, await verdictOf(text.replace('watch=0', 'watch=1'))) ?? '', /target is/);
  const watching = {
    ...ours,
    requests: [{ ...ours.requests[0]!, info: { ...ours.requests[0]!.info!, verb: 'watch' } }],
  };
  assert.match(difference(watching, await verdictOf(text)) ?? '', /verb is "watch" to us and "list" to Go/);
});

test('whole requests over both protocols: what was judged is what Go and an API server read behind the gateway, and all are answered', async (t) => {
  const seed = seedOfRun();
  t.diagnostic(`seed ${seed}`);
  const report = await fuzzRequests({ seed, cases: 3_000, seconds: 300, compare: true });
  for (const line of requestReportText(report).split('\n')) t.diagnostic(line);
  assert.deepEqual(report.findings, []);
  // Requests that nobody lets through would be no comparison.
  assert.ok(report.compared > report.cases / 5, `only ${report.compared} requests were read by Go`);
});
