import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../test/site/polling.ts';
import { startSimulator } from '../server.ts';
import type { Simulator } from '../server.ts';
import { tellStory } from './demo-story.ts';

/** A clock whose timers run only when the test says so. */
function handClock(): {
  readonly now: () => number;
  after(ms: number, run: () => void): () => void;
  pass(ms: number): void;
} {
  let nowMs = Date.now();
  let timers: { at: number; run: () => void }[] = [];
  return {
    now: () => nowMs,
    after(ms, run) {
      const timer = { at: nowMs + ms, run };
      timers.push(timer);
      return () => (timers = timers.filter((each) => each !== timer));
    },
    pass(ms) {
      const end = nowMs + ms;
      for (;;) {
        const next = timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        nowMs = next.at;
        timers = timers.filter((each) => each !== next);
        next.run();
      }
      nowMs = end;
    },
  };
}

const isReachable = async ({ url }: Simulator): Promise<boolean> => {
  const { connect } = await import('node:net');
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });
};

test('one cluster rolls out, one has a pod in a crash loop, one goes away for a minute and comes back', async () => {
  const clusters = await Promise.all(['a', 'b', 'c'].map((name) => startSimulator({ name })));
  const clock = handClock();
  const story = tellStory(clusters, clock);
  try {
    const [first, second, third] = clusters as [Simulator, Simulator, Simulator];
    const pods = (cluster: Simulator) => cluster.store.list('Pod', 'shop');
    clock.pass(3_000);
    await eventually('the pods are there', () => pods(first).length === 4 && pods(second).length === 1);
    await eventually('they run', () =>
      [...pods(first), ...pods(second)].every((pod) => pod['status'].phase === 'Running'),
    );
    clock.pass(3_000);
    await eventually(
      'a rollout is under way',
      () => new Set(pods(first).map((pod) => pod['spec'].containers[0].image as string)).size === 2,
    );
    const crashing = pods(second)[0]!['status'].containerStatuses[0];
    assert.equal(crashing.state.waiting.reason, 'CrashLoopBackOff');
    assert.equal(crashing.restartCount, 1);
    clock.pass(20_000);
    assert.equal(pods(second)[0]!['status'].containerStatuses[0].restartCount, 2);
    clock.pass(74_000);
    await eventually('it is away', async () => !(await isReachable(third)));
    clock.pass(60_000);
    await eventually('it is back', () => isReachable(third));
  } finally {
    story.close();
    await Promise.all(clusters.map((cluster) => cluster.close()));
  }
});
