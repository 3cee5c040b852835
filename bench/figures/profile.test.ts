import assert from 'node:assert/strict';
import { test } from 'node:test';

import { selfTimes } from './profile.ts';

test('only samples inside the window count, idle time never', () => {
  const frame = (functionName: string, url: string) => ({ functionName, url, lineNumber: 9 });
  const profile = {
    nodes: [
      { id: 1, callFrame: frame('(idle)', '') },
      { id: 2, callFrame: frame('send', 'file:///x/routing/forward/stream.ts') },
      { id: 3, callFrame: frame('writev', '') },
    ],
    startTime: 1_000,
    samples: [2, 2, 1, 3, 2],
    timeDeltas: [100, 100, 100, 100, 100],
  };
  const { functions, files } = selfTimes(profile, 1_150, 1_450);
  assert.deepEqual(
    [...functions],
    [
      ['send routing/forward/stream.ts:10', 100],
      ['writev (native):10', 100],
    ],
  );
  assert.deepEqual([...files.keys()], ['routing/forward/stream.ts', '(native)']);
});
