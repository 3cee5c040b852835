import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeObject } from '../model/types.ts';
import type { Clock } from './clock.ts';
import { logFault, serveLog } from './log.ts';
import { testPod } from './streams.fixture.ts';

interface FakeClock extends Clock {
  /** Moves the hands and runs what became due. */
  advance(byMs: number): void;
  pending(): number;
}

function fakeClock(start = '2026-11-21T08:00:00Z'): FakeClock {
  let nowMs = Date.parse(start);
  const timers = new Set<{ readonly dueMs: number; readonly run: () => void }>();
  return {
    now: () => nowMs,
    after(delayMs, run) {
      const timer = { dueMs: nowMs + delayMs, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pending: () => timers.size,
    advance(byMs) {
      const end = nowMs + byMs;
      for (;;) {
        const [next] = Array.from(timers).sort((a, b) => a.dueMs - b.dueMs);
        if (next === undefined || next.dueMs > end) break;
        timers.delete(next);
        nowMs = Math.max(nowMs, next.dueMs);
        next.run();
      }
      nowMs = end;
    },
  };
}

interface Reading {
  text: string;
  isEnded: boolean;
  close(): void;
}

async function read(
  query: string,
  options: { clock?: Clock; pod?: KubeObject; container?: string } = {},
): Promise<Reading> {
  const closeListeners: (() => void)[] = [];
  const reading: Reading = {
    text: '',
    isEnded: false,
    close: () => {
      for (const listener of closeListeners) listener();
    },
  };
  const served = serveLog(
    {
      pod: options.pod ?? testPod(),
      container: options.container ?? 'web',
      query: new URLSearchParams(query),
      write: (chunk) => ((reading.text += String(Buffer.from(chunk as string))), true),
      end: () => (reading.isEnded = true),
      onClose: (listener) => closeListeners.push(listener),
    },
    { clock: options.clock ?? fakeClock(), periodMs: 1_000 },
  );
  await served;
  return reading;
}

const linesOf = (reading: Reading): string[] => reading.text.split('\n').slice(0, -1);

function crashedPod(): KubeObject {
  const ended = { startedAt: '2026-11-21T07:00:00Z', finishedAt: '2026-11-21T07:00:30Z', exitCode: 137 };
  return testPod({
    status: {
      containerStatuses: [
        {
          name: 'web',
          restartCount: 1,
          state: { running: { startedAt: '2026-11-21T07:59:00Z' } },
          lastState: { terminated: ended },
        },
        { name: 'shell', restartCount: 0, state: { waiting: { reason: 'ContainerCreating' } } },
      ],
    },
  });
}

describe('pod logs', () => {
  it('are the same for every reader, differ by pod, and end unless followed', async () => {
    const first = await read('tailLines=50');
    assert.equal(first.isEnded, true);
    assert.equal(linesOf(first).length, 50);
    assert.equal((await read('tailLines=50')).text, first.text);
    assert.notEqual((await read('tailLines=50', { pod: testPod({ uid: 'another' }) })).text, first.text);
    assert.notEqual((await read('tailLines=50', { container: 'shell' })).text, first.text);
    const later = fakeClock();
    later.advance(10_000);
    const again = linesOf(await read('tailLines=50', { clock: later }));
    assert.deepEqual(again.slice(0, 40), linesOf(first).slice(-40), 'old lines do not change');
  });

  it('apply tailLines, limitBytes, sinceSeconds, sinceTime and timestamps', async () => {
    assert.equal((await read('tailLines=0')).text, '');
    assert.equal(linesOf(await read('')).length, 1_000);
    assert.equal((await read('limitBytes=77')).text.length, 77);
    const stamped = linesOf(await read('timestamps=true&sinceSeconds=60'));
    assert.ok(stamped.length >= 58 && stamped.length <= 61, `${stamped.length} lines in a minute`);
    const stamps = stamped.map((line) => Date.parse(line.split(' ', 1)[0] ?? ''));
    assert.ok(stamps.every((stamp, i) => stamp > (stamps[i - 1] ?? 0)));
    assert.ok((stamps[0] ?? 0) >= Date.parse('2026-11-21T07:59:00Z'));
    assert.match(stamped[0] ?? '', /^2026-11-21T07:59:\d\d\.\d{9}Z /);
    assert.deepEqual(linesOf(await read('timestamps=true&sinceTime=2026-11-21T07:59:00Z')), stamped);
  });

  it('follow: new lines come in time, the timer dies with the client', async () => {
    const clock = fakeClock();
    const reading = await read('follow=true&tailLines=3&timestamps=1', { clock });
    assert.equal(linesOf(reading).length, 3);
    assert.equal(reading.isEnded, false);
    clock.advance(20_000);
    const count = linesOf(reading).length;
    assert.ok(count >= 22 && count <= 24, `${count} lines`);
    assert.equal(new Set(linesOf(reading)).size, count, 'no line twice');
    const late = await read('tailLines=23&timestamps=1', { clock });
    assert.equal(linesOf(late).at(-1), linesOf(reading).at(-1));
    reading.close();
    assert.equal(clock.pending(), 0);
    clock.advance(20_000);
    assert.equal(linesOf(reading).length, count);
  });

  it('follow ends by itself at limitBytes and for a container that has ended', async () => {
    const clock = fakeClock();
    const limited = await read('follow=true&tailLines=0&limitBytes=100', { clock });
    clock.advance(60_000);
    assert.equal(limited.isEnded, true);
    assert.equal(limited.text.length, 100);
    assert.equal(clock.pending(), 0);
    const over = await read('follow=true&previous=true', { clock, pod: crashedPod() });
    assert.equal(over.isEnded, true);
  });

  it('previous shows the run before the restart, with its last words', async () => {
    const previous = linesOf(await read('previous=true&timestamps=true', { pod: crashedPod() }));
    assert.ok(previous.length >= 29 && previous.length <= 31);
    assert.match(previous.at(-1) ?? '', /^2026-11-21T07:00:\d.* fatal: exiting with code 137$/);
    const current = linesOf(await read('timestamps=true', { pod: crashedPod() }));
    assert.match(current[0] ?? '', /^2026-11-21T07:59:00.000000000Z .*ready for start up/);
    assert.equal((await read('follow=true', { pod: crashedPod(), container: 'shell' })).isEnded, true);
  });

  it('are refused for bad numbers, two sinces, and a previous run that never was', () => {
    const fault = (query: string, pod = testPod()): string => logFault(pod, 'web', new URLSearchParams(query)) ?? '';
    assert.match(fault('tailLines=-1'), /invalid tailLines/);
    assert.match(fault('sinceTime=yesterday'), /invalid sinceTime/);
    assert.match(fault('sinceTime=2026-11-21T07:59:00Z&sinceSeconds=1'), /at most one of/);
    assert.equal(fault('previous=true'), 'previous terminated container "web" in pod "web-0" not found');
    assert.equal(fault('previous=true', crashedPod()), '');
    assert.equal(fault('previous=false&tailLines=10'), '');
  });

  it('of a container with a command are what the command prints', async () => {
    const withCommand = (command: readonly string[], status?: object): KubeObject => {
      const pod = testPod(status === undefined ? {} : { status });
      const [web] = pod['spec'].containers;
      web.command = command;
      return pod;
    };
    const script = 'echo hello from $HOSTNAME; sleep 1000; echo oops >&2; exit 3';
    const pod = withCommand(['sh', '-c', script]);
    assert.equal((await read('', { pod })).text, 'hello from web-0\noops\n');
    assert.equal((await read('tailLines=1&timestamps=1', { pod })).text, '2026-11-20T10:00:00.000000000Z oops\n');
    assert.equal((await read('', { pod: withCommand(['sleep', 'infinity']) })).text, '');
    assert.equal((await read('', { pod: withCommand(['sleep', '3600']) })).text, '');
    assert.equal((await read('', { pod: withCommand(['sh', '-c', 'echo $COLOR']) })).text, 'green\n');
    const clock = fakeClock();
    const followed = await read('follow=true', { pod, clock });
    assert.equal(followed.isEnded, false);
    assert.equal(clock.pending(), 0);
    for (const command of [['/app/server'], ['sh', '-c', 'while true; do date; done'], ['ls', '--color']]) {
      assert.equal(linesOf(await read('', { pod: withCommand(command) })).length, 1_000, 'invented lines');
    }
  });
});
