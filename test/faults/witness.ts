// Loaded into a gateway process under test (`node --import`), never into any other: counts what the process holds,
// steps its wall clock, blocks its event loop, breaks a promise, as a file says when SIGUSR2 comes. It must hold
// nothing itself, or the counts would be its own.
import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { queryObjects } from 'node:v8';

/** What it is told. */
export type WitnessCommand =
  | { readonly kind: 'count' }
  /**
   * Moves what JavaScript takes for the time of day; monotonic clocks and timers stay, as with a step of the system's
   * clock.
   */
  | { readonly kind: 'step-clock'; readonly byMs: number }
  | { readonly kind: 'block'; readonly forMs: number }
  | { readonly kind: 'reject' };

/** What a process holds, after a full collection. */
export interface Holdings {
  /** TCP and TLS sockets of JavaScript, closed ones that something still refers to included. */
  readonly sockets: number;
  /** Timers that something refers to, unref'ed ones included. */
  readonly timers: number;
  readonly descriptors: number;
  readonly heapBytes: number;
  /** Memory outside of the heap that JavaScript objects hold. */
  readonly externalBytes: number;
  readonly residentBytes: number;
}

const folder = process.env['PORTCULLIS_WITNESS'];
if (folder !== undefined) {
  const now = Date.now;
  let offsetMs = 0;
  globalThis.Date = class extends Date {
    constructor(...given: readonly unknown[]) {
      if (given.length === 0) super(now() + offsetMs);
      else super(...(given as [number]));
    }
    static override now(): number {
      return now() + offsetMs;
    }
  } as DateConstructor;
  const aTimer = setTimeout(() => undefined, 0);
  const Timeout = aTimer.constructor as new () => object;
  clearTimeout(aTimer);

  const count = (): Holdings => {
    const sockets = queryObjects(Socket, { format: 'count' });
    const timers = queryObjects(Timeout, { format: 'count' });
    (globalThis as { gc?: () => void }).gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    return {
      sockets,
      timers,
      descriptors: readdirSync('/proc/self/fd').length,
      heapBytes: heapUsed,
      externalBytes: external,
      residentBytes: rss,
    };
  };
  const obey = (command: WitnessCommand): unknown => {
    switch (command.kind) {
      case 'count':
        return count();
      case 'step-clock':
        offsetMs += command.byMs;
        return { offsetMs };
      case 'block':
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, command.forMs);
        return {};
      case 'reject':
        void Promise.reject(new Error('a promise that a test broke'));
        return {};
    }
  };
  process.on('SIGUSR2', () => {
    const { id, command } = JSON.parse(readFileSync(join(folder, 'command.json'), 'utf8')) as {
      readonly id: string;
      readonly command: WitnessCommand;
    };
    const answer = join(folder, `${id}.json`);
    writeFileSync(`${answer}.new`, JSON.stringify(obey(command)));
    renameSync(`${answer}.new`, answer);
  });
}
