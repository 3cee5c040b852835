import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { brotliCompressSync, constants } from 'node:zlib';
import { historyAnnotation, isRecorded, readHistory, withRevision } from './work-history.ts';

const revision = (number: number, spec: object = { number }) => ({
  revision: number,
  time: '2026-01-01T00:00:00Z',
  spec: spec as Record<string, unknown>,
});

async function recorded(...revisions: ReturnType<typeof revision>[]): Promise<Record<string, string>> {
  let annotations: Record<string, string> = {};
  for (const each of revisions) annotations = { [historyAnnotation]: await withRevision(annotations, each, 3) };
  return annotations;
}

test('a history has the last revisions, oldest first, and says of which generation the last one is', async () => {
  const annotations = await recorded(revision(1), revision(2), revision(4), revision(5));
  assert.deepEqual(await readHistory(annotations), [revision(2), revision(4), revision(5)]);
  assert.ok(isRecorded(annotations, 5));
  assert.ok(!isRecorded(annotations, 50));
  assert.ok(!isRecorded({}, 1));
  assert.deepEqual(await readHistory({}), []);
});

test('old revisions go when there is no room for them, and one that is too large is kept without its spec', async () => {
  const large = (bytes: number): object => ({ data: randomBytes(bytes).toString('base64') });
  const two = await recorded(revision(1, large(30_000)), revision(2, large(30_000)));
  assert.deepEqual(
    (await readHistory(two))!.map(({ revision: number }) => number),
    [2],
  );
  assert.ok(two[historyAnnotation]!.length <= 64 * 1024);
  const huge = await recorded(revision(1), revision(2, large(300_000)));
  assert.deepEqual(await readHistory(huge), [{ revision: 2, time: revision(2).time }]);
});

test('a history leaves room for the other annotations of the work', async () => {
  const others = { 'kubectl.kubernetes.io/last-applied-configuration': 'x'.repeat(255 * 1024) };
  const text = await withRevision(others, revision(1, { data: randomBytes(2_000).toString('base64') }), 3);
  assert.ok(text.length + 255 * 1024 < 256 * 1024);
  assert.deepEqual(await readHistory({ [historyAnnotation]: text }), [{ revision: 1, time: revision(1).time }]);
});

test('what somebody else wrote there is no history, however large it gets when it is unpacked', async () => {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 1 };
  const packed = brotliCompressSync(Buffer.alloc(200 * 1024 * 1024, ' '), { params }).toString('base64');
  const texts = ['', '1', '1.!!!', `1.${brotliCompressSync('[{"revision":"1"}]').toString('base64')}`, `1.${packed}`];
  for (const text of texts)
    assert.equal(await readHistory({ [historyAnnotation]: text }), undefined, text.slice(0, 30));
  const mended = await withRevision({ [historyAnnotation]: '1.!!!' }, revision(2), 3);
  assert.deepEqual(await readHistory({ [historyAnnotation]: mended }), [revision(2)]);
});
