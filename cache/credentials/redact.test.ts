import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { lastLineRedacted } from './redact.ts';

test('the last line that says something is kept as it is', () => {
  const line = 'Error: profile "production" not found in /home/jane/.aws/config, run: aws sso login';
  assert.equal(lastLineRedacted(`first\n${line}\r\n\n  \n`, []), line);
  assert.equal(lastLineRedacted('', []), '');
  assert.equal(
    lastLineRedacted('getting credentials: exec: executable gke-gcloud-auth-plugin failed', []),
    'getting credentials: exec: executable gke-gcloud-auth-plugin failed',
  );
});

test('what looks like a secret is replaced', () => {
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl-_x9';
  const hex = 'a3f1'.repeat(10);
  const cases: readonly (readonly [string, string])[] = [
    [`got ${jwt} but`, 'got [redacted] but'],
    ['Authorization: Bearer abc', 'Authorization: [redacted]'],
    ['sent bearer abc to x', 'sent bearer [redacted] to x'],
    ['token=abc def', 'token=[redacted]'],
    ['{"password": "abc"}', '{"password": [redacted]'],
    ['fetch https://jane:pw@host/x', 'fetch https://[redacted]@host/x'],
    [`digest ${hex}`, 'digest [redacted]'],
    ['known s3cr3t! and s3cr3t!x', 'known [redacted] and [redacted]'],
    ['\u001b[31mred\u001b[0m\u0007 line', 'red  line'],
  ];
  for (const [from, to] of cases) assert.equal(lastLineRedacted(from, ['s3cr3t!', 's3cr3t!x']), to);
});

test('a long line is cut', () => {
  assert.equal(lastLineRedacted('word '.repeat(100), []), `${'word '.repeat(40).slice(0, 199)}…`);
});

test('never more than 200 characters, no control character, no known secret', () => {
  const secret = 'Known-Secret';
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.string(),
          fc.constant(secret),
          fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)) }),
        ),
      ),
      (parts) => {
        const line = lastLineRedacted(parts.join(''), [secret]);
        assert.ok(line.length <= 200);
        assert.doesNotMatch(line, /\p{Cc}/u);
        assert.ok(!line.includes(secret));
      },
    ),
  );
});
