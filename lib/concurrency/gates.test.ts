import assert from 'node:assert/strict';
import { it } from 'node:test';
import { makeSharedGate } from './gates.ts';

const signal = new AbortController().signal;

function bench(places: number): { readonly started: string[]; ask(cluster: string): void; end(cluster: string): void } {
  const gate = makeSharedGate(places);
  const started: string[] = [];
  const ends = new Map<string, (() => void)[]>();
  return {
    started,
    ask(cluster) {
      const { promise, resolve } = Promise.withResolvers<void>();
      void gate.of(cluster).run(signal, async () => {
        started.push(cluster);
        ends.set(cluster, [...(ends.get(cluster) ?? []), resolve]);
        await promise;
      });
    },
    end: (cluster) => ends.get(cluster)!.shift()!(),
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('no more lists run at once than the process may, however many clusters ask', async () => {
  const { started, ask, end } = bench(2);
  for (const cluster of ['a', 'b', 'c', 'd']) ask(cluster);
  await settled();
  assert.deepEqual(started, ['a', 'b']);
  end('a');
  await settled();
  assert.deepEqual(started, ['a', 'b', 'c']);
  end('b');
  end('c');
  await settled();
  assert.deepEqual(started, ['a', 'b', 'c', 'd']);
});

it('a cluster with many lists does not keep the others waiting until it is through', async () => {
  const { started, ask, end } = bench(2);
  for (const cluster of ['large', 'large', 'large', 'large', 'small', 'tiny']) ask(cluster);
  await settled();
  end('large');
  await settled();
  end('small');
  await settled();
  assert.deepEqual(started, ['large', 'large', 'small', 'tiny']);
  end('tiny');
  await settled();
  assert.deepEqual(started.at(-1), 'large');
});

it('a list that is given up while it waits takes no place', async () => {
  const gate = makeSharedGate(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = gate.of('a').run(signal, () => promise);
  const giveUp = new AbortController();
  const second = gate.of('b').run(giveUp.signal, async () => assert.fail('it runs'));
  giveUp.abort(new Error('over'));
  await assert.rejects(second, /over/);
  resolve();
  await first;
  assert.equal(await gate.of('c').run(signal, async () => 'ran'), 'ran');
});
