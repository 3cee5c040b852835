// What a worker gets from the first process instead of following it itself: files, certificate, the hub, checks, audit
// sinks. The first process sends a change once, so each of these keeps its last good state itself.
import { GatewayError } from '../../cache/model/errors.ts';
import type { HubAnswer, HubClient } from '../../cache/hub/hub-types.ts';
import type { AuditConfig } from '../audit/config.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import type { HealthCheck } from '../operations/health.ts';
import { makeHubAccess, trustReports } from '../hub/hub-access.ts';
import type { HubAccess } from '../hub/hub-access.ts';
import type { HubConfig } from '../config/hub-config.ts';
import { makeHubTrust } from '../hub/hub-trust.ts';
import type { Log } from '../operations/log.ts';
import type { Reloading } from '../start/reloading.ts';
import type { Serving, ServingPair } from '../certificates/serving.ts';
import type { Answer, FromWorker, Question, ReplicaCheck, TrustData } from './messages.ts';

/** How a worker reaches the first process. */
export interface FirstProcess {
  /** @throws GatewayError (rejects) what the first process was answered */
  ask(question: Question): Promise<Answer>;
  send(message: FromWorker): void;
  /** Bytes of messages that it has not taken yet. */
  readonly queuedBytes: number;
}

/** Files of the configuration; `faults` is empty, as the first process reports them. */
export interface ReplicaFiles extends Reloading {
  update(label: string, texts: readonly string[]): void;
}

/** @param files texts as last found good, by the label of their files */
export function makeReplicaFiles(files: ReadonlyMap<string, readonly string[]>, log: Log): ReplicaFiles {
  const current = new Map(files);
  const users = new Map<string, ((...texts: string[]) => void)[]>();
  return {
    async add(paths, apply) {
      const label = paths.join(', ');
      const texts = current.get(label);
      if (texts === undefined) throw new Error(`the first process has not sent the text of ${label}`);
      apply(...texts);
      users.set(label, [...(users.get(label) ?? []), apply]);
    },
    update(label, texts) {
      current.set(label, texts);
      for (const apply of users.get(label) ?? []) {
        try {
          apply(...texts);
        } catch (error) {
          // The first process took it. A difference, as of a certificate that has just expired, must not end this one.
          log.error({ file: label, err: error }, 'a file that the first process took cannot be used here');
        }
      }
    },
    faults: () => [],
    close: () => undefined,
  };
}

/** The certificate of the listener. */
export interface ReplicaServing extends Pick<Serving, 'current' | 'onChange'> {
  update(pair: ServingPair): void;
}

export function makeReplicaServing(first: ServingPair): ReplicaServing {
  let pair = first;
  let changed: (() => void) | undefined;
  return {
    current: () => pair,
    onChange: (listener) => void (changed = listener),
    update(next) {
      pair = next;
      changed?.();
    },
  };
}

/** The hub, asked over the connections of the first process. */
export interface ReplicaHub {
  readonly client: HubClient;
  readonly access: HubAccess;
  update(trust: TrustData): void;
}

/** @param trust the trust in force; undefined: none is known yet */
export function makeReplicaHub(
  config: HubConfig,
  trust: TrustData | undefined,
  first: Pick<FirstProcess, 'ask'>,
  log: Log,
): ReplicaHub {
  const client: HubClient = {
    url: 'the hub',
    async request({ signal, ...call }) {
      if (signal?.aborted === true) throw new GatewayError('HUB_UNAVAILABLE', 'the hub is not asked any more');
      return (await first.ask({ what: 'hub', call })) as HubAnswer;
    },
    open: () => Promise.reject(new GatewayError('INTERNAL', 'only the first process watches the hub')),
    close: () => undefined,
  };
  const followed = makeHubTrust(trustReports(log));
  const update = (data: TrustData): void => {
    const metadata = {
      name: 'extension-apiserver-authentication',
      namespace: 'kube-system',
      uid: '',
      resourceVersion: '',
    };
    followed.apply(new Map([[`${metadata.namespace}/${metadata.name}`, { metadata, data }]]));
  };
  if (trust !== undefined) update(trust);
  const synced = Promise.resolve();
  return { client, access: makeHubAccess(client, config, { ...followed, synced, close: () => undefined }), update };
}

/** What the checks of the first process found last. */
export interface ReplicaChecks {
  readonly checks: readonly HealthCheck[];
  update(checks: readonly ReplicaCheck[]): void;
}

/** @param shuttingDown true once this worker is to end */
export function makeReplicaChecks(first: readonly ReplicaCheck[], shuttingDown: () => boolean): ReplicaChecks {
  let found = new Map(first.map((check) => [check.name, check]));
  return {
    checks: first.map(({ name, on }) => ({
      name,
      on,
      fault: () => (name === 'shutdown' && shuttingDown() ? 'the process is shutting down' : found.get(name)?.fault),
      note: () => found.get(name)?.note,
    })),
    update: (checks) => void (found = new Map(checks.map((check) => [check.name, check]))),
  };
}

/** Sinks that the first process keeps. */
export interface ReplicaSinks {
  readonly sinks: readonly AuditSink[];
  update(accepting: ReadonlyMap<AuditSink['name'], boolean>): void;
}

/** Bytes of lines that may wait for the first process before a sink counts as full. */
const maxQueuedBytes = 16 * 1024 * 1024;

export function makeReplicaSinks(
  accepting: ReadonlyMap<AuditSink['name'], boolean>,
  config: AuditConfig | undefined,
  first: FirstProcess,
): ReplicaSinks {
  let current = accepting;
  const makeSink = (sink: AuditSink['name']): AuditSink => {
    const waits = sink === 'webhook' && config?.webhook?.mode === 'blocking';
    return {
      name: sink,
      get accepting() {
        return current.get(sink) === true && first.queuedBytes < maxQueuedBytes;
      },
      write(line) {
        if (!waits) {
          first.send({ kind: 'audit', sink, line });
          return undefined;
        }
        return first.ask({ what: 'audit', sink, line }).then(
          (stored) => stored === true,
          () => false,
        );
      },
      // The channel keeps the order, and the first process stores what it was sent.
      flush: () => Promise.resolve(),
      close: () => undefined,
    };
  };
  return { sinks: [...accepting.keys()].map(makeSink), update: (next) => void (current = next) };
}
