import assert from 'node:assert/strict';
import { test } from 'node:test';

import { makeIndexVersion, readIndexVersion } from './index-version.ts';

test('an index resourceVersion has 19 digits, sorts as its time and is read back', () => {
  const times = [1_000_000_000_000_000, 1_795_328_232_427_002, 1_795_328_232_427_003, 9_007_199_254_740_991];
  const versions = times.map(makeIndexVersion);
  assert.ok(versions.every((version) => /^\d{19}$/.test(version)));
  assert.deepEqual(versions.toSorted(), versions);
  assert.deepEqual(versions.map(readIndexVersion), times);
});

test('a text no index has issued is not read', () => {
  const issued = makeIndexVersion(1_795_328_232_427_002);
  const others = ['', '0', '12345', `${issued}0`, issued.slice(1), `-${issued.slice(1)}`, '9'.repeat(19), ` ${issued}`];
  const changed = [...issued].map(
    (digit, at) => issued.slice(0, at) + ((Number(digit) + 1) % 10) + issued.slice(at + 1),
  );
  for (const text of [...others, ...changed]) assert.equal(readIndexVersion(text), undefined, text);
});
