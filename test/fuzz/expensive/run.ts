// `npm run fuzz -- --target expensive`: what authors write costs them, and not the requests of others. One process
// evaluates random expensive expressions as the gateway does; this one asks it something meanwhile, all the time.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import { createRandom } from '../../../bench/figures/statistics.ts';
import { ExpensiveGrammar, expensiveKinds, type ExpensiveCase } from './grammar.ts';
import type { HostSaid } from './host.ts';

export const expensiveName = 'expensive';

/** Longest that a request of somebody else may wait, in milliseconds. */
const longestProbeMs = 250;
/** Most memory of the process, its threads included. */
const mostBytes = 1 << 30;
/** Longest that one case may take, in milliseconds: rules have a deadline, lists of sources and rows are many. */
const longestCaseMs = 60_000;
const probeEveryMs = 20;
/** A case after which others waited is tried again so often: on a busy machine others wait without it, too. */
const tries = 3;

interface KindReport {
  cases: number;
  slowestMs: number;
  slowestProbeMs: number;
}

export interface ExpensiveReport {
  readonly cases: number;
  readonly kinds: Readonly<Record<string, KindReport>>;
  readonly mostBytes: number;
  readonly findings: readonly string[];
}

/** The process under test. */
class Host {
  readonly #child: ChildProcess;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #port = 0;
  #slowestProbeMs = 0;
  #isProbing = true;

  constructor() {
    this.#child = fork(new URL('./host.ts', import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  }

  async start(): Promise<this> {
    const [said] = (await once(this.#child, 'message')) as [{ readonly port: number }];
    this.#port = said.port;
    void this.#probeAlways();
    return this;
  }

  async #probeAlways(): Promise<void> {
    while (this.#isProbing) {
      const startedMs = performance.now();
      await this.#probe();
      this.#slowestProbeMs = Math.max(this.#slowestProbeMs, performance.now() - startedMs);
      await delay(probeEveryMs);
    }
  }

  #probe(): Promise<void> {
    return new Promise((resolve) => {
      const asked = get({ host: '127.0.0.1', port: this.#port, agent: this.#agent }, (answer) =>
        answer.resume().on('end', resolve),
      );
      asked.on('error', () => resolve());
    });
  }

  /** Evaluates a case. `end` is why the process did not come back to it. */
  async evaluate(given: ExpensiveCase): Promise<Extract<HostSaid, { ms: number }> & { readonly probeMs: number }> {
    this.#slowestProbeMs = 0;
    this.#child.send(given);
    const over = new AbortController();
    const { signal } = over;
    try {
      const [said] = await Promise.race([
        once(this.#child, 'message', { signal }) as Promise<[Extract<HostSaid, { ms: number }>]>,
        once(this.#child, 'exit', { signal }).then(([code]) => Promise.reject(new Error(`it ended with ${code}`))),
        delay(longestCaseMs, undefined, { signal }).then(() =>
          Promise.reject(new Error(`it took longer than ${longestCaseMs} ms`)),
        ),
      ]);
      // The probe that is under way has waited for the case.
      await this.#probe();
      return { ...said, probeMs: this.#slowestProbeMs };
    } finally {
      over.abort();
    }
  }

  end(): void {
    this.#isProbing = false;
    this.#agent.destroy();
    this.#child.kill('SIGKILL');
  }
}

/** Runs random cases until the time is over, or `cases` have run. */
export async function fuzzExpensive(seed: number, seconds: number, cases: number): Promise<ExpensiveReport> {
  const grammar = new ExpensiveGrammar(createRandom(seed));
  const kinds: Record<string, KindReport> = {};
  const findings: string[] = [];
  let [done, heap] = [0, 0];
  let host = await new Host().start();
  const untilMs = performance.now() + seconds * 1000;
  for (; done < cases && performance.now() < untilMs; done++) {
    const given = grammar.next(expensiveKinds[done % expensiveKinds.length]);
    const report = (kinds[given.kind] ??= { cases: 0, slowestMs: 0, slowestProbeMs: 0 });
    report.cases += 1;
    try {
      let said = await host.evaluate(given);
      for (let again = 1; said.probeMs > longestProbeMs && again < tries; again++) said = await host.evaluate(given);
      report.slowestMs = Math.max(report.slowestMs, said.ms);
      report.slowestProbeMs = Math.max(report.slowestProbeMs, said.probeMs);
      heap = Math.max(heap, said.heapBytes);
      const wait = said.probeMs > longestProbeMs ? `others waited ${said.probeMs.toFixed(0)} ms` : undefined;
      const memory = said.heapBytes > mostBytes ? `it takes ${said.heapBytes} bytes` : undefined;
      if ((wait ?? memory) !== undefined) findings.push(findingText(seed, done, wait ?? memory!, given));
      if (memory !== undefined) throw new Error('a new process is wanted');
    } catch (error) {
      if (!findings.at(-1)?.includes(`case ${done}:`)) findings.push(findingText(seed, done, String(error), given));
      host.end();
      host = await new Host().start();
    }
  }
  host.end();
  return { cases: done, kinds, mostBytes: heap, findings };
}

function findingText(seed: number, number: number, what: string, given: ExpensiveCase): string {
  return `seed ${seed}, case ${number}: ${what}\n  ${JSON.stringify(given).slice(0, 4000)}`;
}

/** A table of the kinds, then what was found. */
export function expensiveReportText({ cases, kinds, mostBytes: bytes, findings }: ExpensiveReport): string {
  const lines = Object.entries(kinds).map(
    ([kind, one]) =>
      `${kind.padEnd(14)} ${String(one.cases).padStart(7)} ${one.slowestMs.toFixed(0).padStart(10)} ${one.slowestProbeMs.toFixed(0).padStart(12)}`,
  );
  return [
    `${'kind'.padEnd(14)} ${'cases'.padStart(7)} ${'slowest ms'.padStart(10)} ${'others ms'.padStart(12)}`,
    ...lines,
    `${cases} cases, at most ${(bytes / 1e6).toFixed(0)} MB, ${findings.length} findings`,
    ...findings,
    '',
  ].join('\n');
}
