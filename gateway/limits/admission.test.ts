import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import type { Inbound } from '../../http/inbound.ts';
import { AdmissionControl } from './admission.ts';
import { gone } from './waiting-request.ts';
import { readLimitsConfig } from '../../config/sections/limits-config.ts';
import { flagsAlone } from '../../config/settings/settings.ts';
import type { LimitsConfig } from '../../config/sections/limits-config.ts';

const big = makeUser({ name: 'big' });
const small = makeUser({ name: 'small' });
const anonymous = makeUser({ name: 'system:anonymous', groups: ['system:unauthenticated'] });

const noLimits = readLimitsConfig(
  flagsAlone(
    Object.fromEntries(
      [
        'maxRequestsInflight',
        'maxMutatingRequestsInflight',
        'maxUserRequestsInflight',
        'maxUserClusterRequestsInflight',
        'maxClusterRequestsInflight',
        'maxAnonymousRequestsInflight',
        'maxRequestsQueued',
        'maxUserRequestsQueued',
        'maxStreams',
        'maxUserStreams',
        'maxClusterStreams',
      ].map((name) => [name, 0]),
    ),
    assert.fail,
  ),
);

/** An admission with these bounds only. `order` has the requests in the order they got in; `end` ends an exchange. */
function setting(bounds: Partial<LimitsConfig>, nowMs = () => 0) {
  const admission = new AdmissionControl({ ...noLimits, ...bounds }, nowMs);
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const inboundOf = (name: string): Inbound => {
    const listeners: (() => void)[] = [];
    ends.set(name, () => listeners.splice(0).forEach((listener) => listener()));
    return { onClose: (listener: () => void) => listeners.push(listener) } as unknown as Inbound;
  };
  return {
    admission,
    order,
    /** Resolves with the outcome: `in`, `gone`, or status and seconds to wait. */
    async ask(name: string, user: User = big, cluster = 'm1', mutating = false): Promise<string> {
      try {
        const waiting = admission.enter(user, cluster, mutating, inboundOf(name));
        if (waiting !== undefined && (await waiting) === gone) return 'gone';
      } catch (error) {
        assert.ok(error instanceof GatewayError);
        return `${error.status} ${error.details.retryAfterSeconds}`;
      }
      order.push(name);
      return 'in';
    },
    stream(name: string, user: User = big, cluster = 'm1', isUpgrade = false): string {
      try {
        admission.enterStream(user, cluster, inboundOf(name), isUpgrade);
        return 'in';
      } catch (error) {
        return String((error as GatewayError).status);
      }
    },
    end: (name: string) => ends.get(name)!(),
  };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what is let through at once is no promise, and leaves nothing behind', () => {
  const { admission } = setting({ requests: 5 });
  const listeners: (() => void)[] = [];
  const inbound = { onClose: (listener: () => void) => listeners.push(listener) } as unknown as Inbound;
  assert.equal(admission.enter(big, 'm1', false, inbound), undefined);
  assert.deepEqual(admission.stats().inFlight, { reading: 1, mutating: 0, streams: 0 });
  assert.equal(listeners.length, 1);
  listeners[0]!();
  assert.deepEqual(admission.stats().inFlight, { reading: 0, mutating: 0, streams: 0 });
});

test('behind a full gateway a small user is next, however many requests of a big one came before', async () => {
  const { ask, order, end } = setting({ requests: 2 });
  void ask('big-1');
  void ask('big-2');
  for (let i = 3; i < 103; i++) void ask(`big-${i}`);
  void ask('small-1', small, 'm2');
  end('big-1');
  end('big-2');
  await turn();
  assert.deepEqual(order, ['big-1', 'big-2', 'big-3', 'small-1']);
});

test('one user does not take more than its own slots, and the rest stay free', async () => {
  const { ask, order, end } = setting({ requests: 10, userRequests: 2 });
  for (let i = 1; i < 6; i++) void ask(`big-${i}`);
  await turn();
  assert.deepEqual(order, ['big-1', 'big-2']);
  assert.equal(await ask('small-1', small), 'in');
  end('big-2');
  await turn();
  assert.deepEqual(order, ['big-1', 'big-2', 'small-1', 'big-3']);
});

test('a slow cluster holds its own slots and no other cluster waits for it', async () => {
  const { ask, order, admission } = setting({ requests: 10, clusterRequests: 3 });
  for (let i = 0; i < 50; i++) void ask(`slow-${i}`, makeUser({ name: `user-${i % 5}` }), 'slow');
  assert.equal(await ask('quick', makeUser({ name: 'user-1' }), 'quick'), 'in');
  assert.deepEqual(order, ['slow-0', 'slow-1', 'slow-2', 'quick']);
  assert.equal(admission.stats().inFlight.reading, 4);
});

test('a cluster that hangs does not take all slots of a user who works with many', async () => {
  const { ask, order } = setting({ userRequests: 4, userClusterRequests: 2 });
  for (let i = 0; i < 50; i++) void ask(`hangs-${i}`, big, 'slow');
  assert.equal(await ask('quick-1', big, 'quick'), 'in');
  assert.equal(await ask('quick-2', big, 'quick'), 'in');
  assert.deepEqual(order, ['hangs-0', 'hangs-1', 'quick-1', 'quick-2']);
});

test('requests that change something have slots of their own, as with kube-apiserver', async () => {
  const { ask } = setting({ requests: 1, mutatingRequests: 1 });
  assert.equal(await ask('read'), 'in');
  assert.equal(await ask('write', big, 'm1', true), 'in');
});

test('beyond the queue of a user or of the gateway the answer is 429 with Retry-After 1, and others still wait', async () => {
  const { ask, admission, end, order } = setting({ requests: 1, userQueued: 2, queued: 3 });
  void ask('big-1');
  void ask('big-2');
  void ask('big-3');
  assert.equal(await ask('big-4'), '429 1');
  void ask('small-1', small);
  assert.equal(await ask('small-2', small), '429 1');
  assert.equal(admission.stats().queued, 3);
  for (const name of ['big-1', 'big-2', 'small-1']) {
    end(name);
    await turn();
  }
  assert.deepEqual(order, ['big-1', 'big-2', 'small-1', 'big-3']);
  assert.deepEqual(Object.fromEntries(admission.stats().refused), { 'user-queue-full': 1, 'queue-full': 1 });
});

test('a request that waits too long is answered 429 and keeps no slot', async () => {
  const { ask, admission, end } = setting({ requests: 1, clusterRequests: 1, queueTimeoutMs: 5 });
  // The admission's own timer does not keep the process alive.
  const alive = setInterval(() => undefined, 1000);
  void ask('first');
  assert.equal(await ask('late', small), '429 1');
  clearInterval(alive);
  assert.equal(admission.stats().queued, 0);
  end('late');
  end('first');
  assert.equal(admission.stats().inFlight.reading, 0);
  assert.equal(await ask('again'), 'in');
});

test('a client that goes away while it waits gives its turn to the next, and everything back', async () => {
  const { ask, admission, end, order } = setting({ requests: 1, userRequests: 5, clusterRequests: 5 });
  void ask('first');
  const left = ask('left', small);
  void ask('next', makeUser({ name: 'third' }));
  end('left');
  assert.equal(await left, 'gone');
  end('first');
  await turn();
  assert.deepEqual(order, ['first', 'next']);
  end('next');
  assert.deepEqual(admission.stats().inFlight, { reading: 0, mutating: 0, streams: 0 });
  assert.equal(admission.stats().queued, 0);
});

test('a client that goes away in the moment its turn comes gives everything back', async () => {
  const { ask, admission, end } = setting({ requests: 1 });
  void ask('first');
  void ask('second', small);
  end('first');
  end('second');
  await turn();
  assert.deepEqual(admission.stats().inFlight, { reading: 0, mutating: 0, streams: 0 });
});

test('random arrivals, endings and departures never lose or invent a slot, and no bound is passed', async () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const bounds = {
    requests: 4,
    mutatingRequests: 3,
    userRequests: 3,
    userClusterRequests: 2,
    clusterRequests: 3,
    queued: 30,
  };
  const { ask, admission, end } = setting(bounds);
  const open: string[] = [];
  for (let i = 0; i < 5000; i++) {
    if (random(3) > 0 || open.length === 0) {
      open.push(`r${i}`);
      void ask(`r${i}`, makeUser({ name: `user-${random(4)}` }), `m${random(3)}`, random(2) === 1);
    } else end(open.splice(random(open.length), 1)[0]!);
    const { inFlight } = admission.stats();
    assert.ok(inFlight.reading <= 4 && inFlight.mutating <= 3 && inFlight.reading >= 0 && inFlight.mutating >= 0);
    if (i % 50 === 0) await turn();
  }
  for (const name of open) end(name);
  await turn();
  assert.deepEqual(admission.stats().inFlight, { reading: 0, mutating: 0, streams: 0 });
  assert.equal(admission.stats().queued, 0);
});

test('streams are bounded for the gateway, a user and a cluster, and take no slots of short requests', async () => {
  const { stream, ask, end } = setting({ requests: 1, streams: 4, userStreams: 2, clusterStreams: 3 });
  assert.deepEqual([stream('s1'), stream('s2'), stream('s3')], ['in', 'in', '429']);
  assert.deepEqual([stream('s4', small), stream('s5', small)], ['in', '429'], 'the cluster is full');
  assert.deepEqual([stream('s6', small, 'm2'), stream('s7', makeUser({ name: 'third' }), 'm2')], ['in', '429']);
  end('s1');
  assert.equal(stream('s8', makeUser({ name: 'third' }), 'm2'), 'in');
  assert.equal(await ask('short'), 'in');
});

test('no user can take all streams of a cluster, nor all its upgrades (ATT-34)', () => {
  const { stream, end } = setting({ userClusterStreams: 600, clusterStreams: 800 });
  const upgrades = Array.from({ length: 513 }, (_, i) => stream(`u${i}`, big, 'm1', true));
  assert.deepEqual([upgrades.indexOf('429'), upgrades.length], [512, 513]);
  const watches = Array.from({ length: 89 }, (_, i) => stream(`w${i}`));
  assert.deepEqual([watches.indexOf('429'), watches.length], [88, 89]);
  assert.equal(stream('exec', small, 'm1', true), 'in');
  assert.equal(stream('other', big, 'm2', true), 'in', 'each cluster counts by itself');
  end('u7');
  assert.deepEqual([stream('again', big, 'm1', true), stream('one more')], ['in', '429']);
});

test('a watch of many clusters counts in each of them, and for its user and the gateway (ATT-34)', () => {
  const { admission, stream } = setting({ streams: 6, userStreams: 4 });
  assert.equal(stream('all', big, '*'), 'in');
  const leave = ['m1', 'm2', 'm3'].map((cluster) => admission.enterMember(big, cluster, 'stream'));
  assert.equal(admission.stats().inFlight.streams, 4);
  assert.throws(() => admission.enterMember(big, 'm4', 'stream'), /too many streams of this user are open \(4\)/);
  assert.deepEqual([stream('a', small), stream('b', small), stream('c', small)], ['in', 'in', '429']);
  leave[0]!();
  assert.equal(stream('c', small), 'in');
});

test('a rate lets a burst through, then so many a second, each user by itself, and says when to come back', async () => {
  let now = 0;
  const { ask } = setting({ userQps: 2, userBurst: 3 }, () => now);
  const answers = async (user: User): Promise<string[]> =>
    Promise.all([1, 2, 3, 4].map((n) => ask(`${user.name}-${n}`, user)));
  assert.deepEqual(await answers(big), ['in', 'in', 'in', '429 1']);
  assert.deepEqual(await answers(small), ['in', 'in', 'in', '429 1']);
  now = 500;
  assert.deepEqual([await ask('one'), await ask('two')], ['in', '429 1']);
});

test('all who did not log in share a small part', async () => {
  const { ask, admission } = setting({ requests: 100, anonymousRequests: 2 });
  const answers = [1, 2, 3, 4, 5].map((n) => ask(`a${n}`, anonymous));
  assert.equal(await answers[4], '429 1');
  assert.deepEqual(admission.stats().inFlight.reading, 2);
  assert.equal(await ask('big'), 'in');
});

test('names that come and go are forgotten, those that hold something are not', async () => {
  const { ask, admission, end } = setting({});
  await ask('kept', makeUser({ name: 'kept' }));
  for (let i = 0; i < 30_000; i++) {
    await ask('x', makeUser({ name: `user-${i}` }), `cluster-${i}`);
    end('x');
  }
  assert.ok(admission.stats().users <= 10_001, String(admission.stats().users));
  assert.equal(admission.stats().inFlight.reading, 1);
});

test('while memory is short everything new is refused, and nothing any more when it is over', async () => {
  const { ask, stream, admission } = setting({});
  admission.shed('the gateway is short of memory; ask again');
  assert.equal(await ask('a'), '429 1');
  assert.equal(stream('b'), '429');
  admission.shed(undefined);
  assert.equal(await ask('c'), 'in');
});
