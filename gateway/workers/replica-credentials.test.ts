import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../cache/model/errors.ts';
import type { Credential, CredentialSource } from '../../cache/model/records.ts';
import { makeAnswers } from './answers.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import { makeReplicaCredentials } from './replica-credentials.ts';
import type { ReplicaCredentials } from './replica-credentials.ts';
import type { WorkerProcess } from './worker-process.ts';
import { errorOfWire } from './wire-error.ts';

interface Site {
  readonly workers: readonly ReplicaCredentials[];
  runs(): number;
  /** What the plugin gives from now on. */
  give(token: string | GatewayError): void;
}

const credential = (token: string): Credential => ({
  authorization: token,
  clientCertificate: undefined,
  expiresAtMs: undefined,
});

/** Two workers and the first process, over its real answers. */
function site(): Site {
  let runs = 0;
  let given: string | GatewayError = 'one';
  let held: Credential | undefined;
  const source: CredentialSource = {
    kind: 'exec',
    current() {
      if (held !== undefined) return held;
      runs += 1;
      if (given instanceof GatewayError) return Promise.reject(given);
      held = credential(given);
      return Promise.resolve(held);
    },
    invalidate: () => void (held = undefined),
  };
  const waiting = new Map<number, { resolve(value: Credential): void; reject(error: Error): void }>();
  let lastId = 0;
  const workers: ReplicaCredentials[] = [];
  const receive = (index: number, message: ToWorker): void => {
    if (message.kind === 'answer') waiting.get(message.id)!.resolve(message.answer as Credential);
    else if (message.kind === 'failure') waiting.get(message.id)!.reject(errorOfWire(message.error));
    else if (message.kind === 'forget-credential') workers[index]!.forget(message.id);
  };
  const processes = [0, 1].map(
    (index) => ({ send: (message: ToWorker) => receive(index, message) }) as unknown as WorkerProcess,
  );
  const hear: (worker: WorkerProcess, message: FromWorker) => void = makeAnswers({
    hub: undefined,
    credentials: { source: (id) => (id === 7 ? source : undefined) },
    sinks: [],
    send: (message, except) => {
      for (const one of processes) if (one !== except) one.send(message);
    },
  });
  for (const one of processes) {
    workers.push(
      makeReplicaCredentials({
        ask: (id) =>
          new Promise((resolve, reject) => {
            lastId += 1;
            waiting.set(lastId, { resolve, reject });
            hear(one, { kind: 'ask', id: lastId, question: { what: 'credential', id } });
          }),
        sendRefused: (id) => hear(one, { kind: 'credential-refused', id }),
      }),
    );
  }
  return { workers, runs: () => runs, give: (token) => void (given = token) };
}

const tokenOf = async (source: CredentialSource): Promise<string | undefined> => (await source.current()).authorization;

test('one run of a plugin serves both workers, and a credential that is held is returned at once', async () => {
  const { workers, runs } = site();
  const [one, other] = workers.map((worker) => worker.of(7));
  assert.deepEqual(await Promise.all([tokenOf(one!), tokenOf(one!), tokenOf(other!)]), ['one', 'one', 'one']);
  assert.equal(runs(), 1);
  assert.equal(one!.current() instanceof Promise, false);
  assert.equal(workers[0]!.of(7), one, 'the same source for the same number');
});

test('a credential that a member refused to one worker is sent by neither again', async () => {
  const { workers, runs, give } = site();
  const [one, other] = workers.map((worker) => worker.of(7));
  await Promise.all([tokenOf(one!), tokenOf(other!)]);
  give('two');
  one!.invalidate();
  assert.deepEqual([await tokenOf(other!), await tokenOf(one!)], ['two', 'two']);
  assert.equal(runs(), 2);
});

test('the fault of a plugin arrives in its own words, and the plugin is asked again', async () => {
  const { workers, give } = site();
  give(new GatewayError('MEMBER_CREDENTIAL', 'credential plugin x: exited with code 3'));
  const one = workers[0]!.of(7);
  await assert.rejects(tokenOf(one), { code: 'MEMBER_CREDENTIAL', message: /exited with code 3/ });
  give('late');
  assert.equal(await tokenOf(one), 'late');
});

test('a number that is no longer known is a credential that cannot be had', async () => {
  const { workers } = site();
  await assert.rejects(tokenOf(workers[0]!.of(8)), { code: 'MEMBER_CREDENTIAL' });
});
