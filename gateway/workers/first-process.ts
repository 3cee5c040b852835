// The first process of a gateway with several workers. It accepts connections and gives each to a worker, replaces
// workers that end, writes the audit log, runs exec plugins for credentials and passes messages between workers. It
// does not tell workers which clusters exist or who may do what: each worker finds this out by itself.
import { isDeepStrictEqual } from 'node:util';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { formatHostPort } from '../../lib/text/host-port.ts';
import { startAuditSinks } from '../audit/audit.ts';
import type { RunningSinks } from '../audit/audit.ts';
import type { Config } from '../../config/configuration.ts';
import { limitsOfWorker } from '../../config/workers-config.ts';
import { flushMs } from '../open-streams/drain.ts';
import type { Log } from '../../lib/log.ts';
import { addressFault } from '../parts/address-fault.ts';
import { assembled } from '../parts/closing.ts';
import type { Closers } from '../parts/closing.ts';
import type { Gateway } from '../start/gateway.ts';
import { startHandover } from './handover.ts';
import type { Handover } from './handover.ts';
import type { Answer, FromWorker, Port, Question, SinkStates } from './messages.ts';
import { makeWorkersPage } from './metrics-page.ts';
import type { WorkersPage } from './metrics-page.ts';
import { makePluginRuns } from './plugin-runs.ts';
import type { PluginRuns } from './plugin-runs.ts';
import { startSupervisor } from './supervisor.ts';
import type { Supervisor } from './supervisor.ts';
import { wireErrorOf } from './wire-error.ts';
import type { WorkerProcess } from './worker-process.ts';

/**
 * Milliseconds that workers get after the grace period of the shutdown, to close connections and to send their last
 * audit events. Then they are killed.
 */
const endingMs = 5_000;
/**
 * Milliseconds between two checks whether the state of the audit sinks has changed. A new state is sent to the workers,
 * because a worker refuses requests while a sink is full.
 */
const sinksEveryMs = 50;

/** Starts a gateway with `config.workers` workers. @throws as `startGateway` does; Error when a worker cannot start */
export async function startWorkers(config: Config, log: Log, version: string): Promise<Gateway> {
  return await assembled(async (closers, closeAll) => {
    const first = new FirstProcess(config, log, closers);
    const sinks = await first.openSinks();
    const supervisor = first.start(version, sinks);
    await supervisor.ready;
    const [, { ready }] = supervisor.list()[0]!;
    const operations = await first.listen('operations', config.opsListen, '--ops-listen');
    const requests = await first.listen('requests', config.listen, '--listen');
    const urlOf = (scheme: string, { host }: Config['listen'], { port }: Handover): string =>
      `${scheme}//${formatHostPort({ host, port })}`;
    return {
      url: urlOf('https:', config.listen, requests),
      opsUrl: urlOf(new URL(ready!.opsUrl).protocol, config.opsListen, operations),
      caFile: ready!.caFile,
      selfToken: ready!.selfToken,
      indexNote: first.note,
      async drain() {
        supervisor.send({ kind: 'unready' });
        if (config.shutdownDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, config.shutdownDelayMs));
        requests.close();
        await supervisor.drain(config.shutdownGraceMs + endingMs);
        await sinks?.flush(flushMs);
        closeAll();
      },
      close: closeAll,
    };
  });
}

class FirstProcess {
  /**
   * Resolves with the line that names clusters which forbid the index to read them, as a worker reported it; with
   * undefined when there is none.
   */
  readonly note: Promise<string | undefined>;
  readonly #config: Config;
  readonly #log: Log;
  readonly #closers: Closers;
  readonly #noted = Promise.withResolvers<string | undefined>();
  readonly #handovers = new Map<Port, Handover>();
  readonly #plugins: PluginRuns;
  readonly #page: WorkersPage;
  readonly #registry = new Registry();
  #sinks: RunningSinks | undefined;
  #supervisor: Supervisor | undefined;

  constructor(config: Config, log: Log, closers: Closers) {
    this.#config = config;
    this.#log = log;
    this.#closers = closers;
    this.note = this.#noted.promise;
    collectDefaultMetrics({ register: this.#registry });
    this.#page = makeWorkersPage(this.#registry, () => this.#supervisor);
    const plugins = makePluginRuns();
    this.#plugins = plugins;
    closers.push(() => plugins.close());
  }

  /**
   * Opens the sinks of the audit log; undefined when nothing is audited.
   * @throws ConfigurationError when a sink cannot be opened
   */
  async openSinks(): Promise<RunningSinks | undefined> {
    const { audit, dataDir } = this.#config;
    if (audit === undefined) return undefined;
    const sinks = await startAuditSinks(audit, { log: this.#log, dataDir });
    this.#sinks = sinks;
    sinks.register(this.#registry);
    // Sinks are closed last, because closing connections still produces audit events.
    this.#closers.unshift(() => sinks.close());
    return sinks;
  }

  start(version: string, sinks: RunningSinks | undefined): Supervisor {
    const config = this.#config;
    const workers = config.workers ?? 1;
    const workerConfig = { ...config, limits: limitsOfWorker(config.limits, workers) };
    const supervisor = startSupervisor({
      workers,
      log: this.#log,
      start: () => ({ config: workerConfig, version, sinks: statesOf(sinks) }),
      onMessage: (worker, message) => this.#receive(worker, message),
      onReady: () => {
        for (const handover of this.#handovers.values()) handover.flush();
      },
      onLost: (metrics) => this.#page.keep(metrics),
      onUnsent: (sockets) => {
        for (const [socket, port] of sockets) this.#handovers.get(port)?.giveAgain(socket);
      },
    });
    this.#supervisor = supervisor;
    this.#closers.push(() => supervisor.close());
    if (sinks !== undefined) this.#sendSinks(supervisor, sinks);
    return supervisor;
  }

  /** Opens a listening socket. @throws AddressError when the address cannot be bound */
  async listen(port: Port, at: Config['listen'], flag: string): Promise<Handover> {
    const handover = await startHandover(at, {
      taker: () => {
        const worker = this.#supervisor?.idlest();
        return worker && ((socket) => worker.take(socket, port));
      },
      maxWaiting: this.#config.limits.connections,
    }).catch(addressFault(flag, at));
    this.#handovers.set(port, handover);
    this.#closers.push(() => handover.close());
    return handover;
  }

  /**
   * Sends the state of the sinks to all workers when the state has changed. Sinks have no event for this, so they are
   * polled.
   */
  #sendSinks(supervisor: Supervisor, sinks: RunningSinks): void {
    let last = statesOf(sinks);
    const timer = setInterval(() => {
      const accepting = statesOf(sinks);
      if (!isDeepStrictEqual(accepting, last)) supervisor.send({ kind: 'sinks', accepting });
      last = accepting;
    }, sinksEveryMs).unref();
    this.#closers.push(() => clearInterval(timer));
  }

  #receive(worker: WorkerProcess, message: FromWorker): void {
    switch (message.kind) {
      case 'ask': {
        const { id, question } = message;
        this.#answerOf(worker, question).then(
          (answer) => worker.send({ kind: 'answer', id, answer }),
          (error: unknown) => worker.send({ kind: 'failure', id, error: wireErrorOf(error) }),
        );
        return;
      }
      case 'audit':
        void this.#sinks?.sinks.find(({ name }) => name === message.sink)?.write(message.line);
        return;
      case 'peer':
        return this.#supervisor?.send(message, worker);
      case 'note':
        return this.#noted.resolve(message.text);
      default:
        throw new Error(`a worker does not say ${message.kind} here`);
    }
  }

  async #answerOf(worker: WorkerProcess, question: Question): Promise<Answer> {
    switch (question.what) {
      case 'metrics':
        return await this.#page.metrics();
      case 'plugin':
        return await this.#plugins.run(worker, question.run);
      case 'audit': {
        const sink = this.#sinks?.sinks.find(({ name }) => name === question.sink);
        return (await sink?.write(question.line)) ?? true;
      }
    }
  }
}

function statesOf(sinks: RunningSinks | undefined): SinkStates {
  return new Map((sinks?.sinks ?? []).map(({ name, accepting }) => [name, accepting]));
}
