// `portcullis join` and `unjoin`: create or delete a ClusterJoin on the hub, and print its conditions, which the
// gateway writes, until the cluster has joined or left.
import { setTimeout as delay } from 'node:timers/promises';
import { Failure, usageFailure } from '../terminal/failure.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { collectionPath, objectPath } from '../../kube/paths.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { joinPath, joinsPath, type HubObject, type HubObjects } from './hub-objects.ts';

/** What `portcullis join` needs to create the ClusterJoin and its bootstrap Secret. */
export interface JoinRequest {
  readonly name: string;
  /** Namespace of the hub in which the bootstrap Secret is created. */
  readonly namespace: string;
  /** The bootstrap kubeconfig, which is stored in the Secret. */
  readonly kubeconfig: string;
  /** Fields of the ClusterJoin's spec other than the reference to the Secret. */
  readonly spec: JsonObject;
}

export interface Waiting {
  readonly timeoutMs: number;
  readonly pollMs: number;
}

/** Reasons of conditions for faults that do not go away by waiting; the command fails when it sees one of them. */
const lasting = new Set([
  ...['RightsMissing', 'AlreadyJoined', 'NameTaken', 'ForeignObjects', 'OtherCluster'],
  ...['InvalidBootstrap', 'CredentialRefused', 'BundleMissing', 'InvalidName'],
]);

/**
 * Creates the bootstrap Secret and the ClusterJoin.
 * @throws Failure when the hub refuses one of them; a Secret that was created already is then deleted again
 */
export async function declareJoin(hub: HubObjects, { name, namespace, kubeconfig, spec }: JoinRequest): Promise<void> {
  if ((await hub.get(joinPath(name))) !== undefined)
    throw usageFailure(`there is a ClusterJoin "${name}" already`, `Let it leave first: portcullis unjoin ${name}`);
  const secrets = { group: '', version: 'v1', resource: 'secrets', namespace };
  const secret = await hub.create(collectionPath(secrets, {}), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { generateName: `${name}-bootstrap-` },
    stringData: { kubeconfig },
  });
  const bootstrapKubeconfigSecret = { namespace, name: secret.metadata.name };
  const metadata = { name };
  const join = { apiVersion: 'join.portcullis.io/v1alpha1', kind: 'ClusterJoin', metadata };
  try {
    await hub.create(joinsPath, { ...join, spec: { ...spec, bootstrapKubeconfigSecret } });
  } catch (error) {
    await hub.remove(objectPath(secrets, secret.metadata.name)).catch(() => false);
    throw error;
  }
}

/** What is printed while the ClusterJoin has no conditions, because no gateway has written any. */
const unseen =
  'no gateway has looked at it yet: one must run with --cluster-joins, and its /readyz?verbose says when it cannot use its Lease';

/**
 * Waits until the cluster is ready.
 * @throws Failure when a condition reports a fault that does not go away by waiting, or after the timeout
 */
export async function awaitReady(hub: HubObjects, name: string, terminal: Terminal, waiting: Waiting): Promise<void> {
  const tell = teller(terminal);
  await poll(terminal, waiting, async () => {
    const join = await hub.get(joinPath(name));
    if (join === undefined) throw new Failure(`the ClusterJoin "${name}" was deleted meanwhile`, '');
    const conditions = conditionsIn(join);
    for (const condition of conditions) tell(condition);
    const failed = conditions.find(({ status, reason }) => status === 'False' && lasting.has(reason));
    if (failed !== undefined)
      throw new Failure(
        `${name} cannot join: ${failed.message}`,
        `Mend that, and the gateway goes on by itself; or give up with: portcullis unjoin ${name}`,
      );
    const ready = conditions.find(({ type }) => type === 'Ready');
    return ready?.status === 'True' ? undefined : (ready?.message ?? unseen);
  });
  terminal.print(`${name} has joined\n`);
}

/**
 * Deletes the ClusterJoin and waits until the cluster has left.
 * @param forceAfter duration after which a cluster that cannot be reached is given up; when undefined, the policy in
 * the ClusterJoin stays as it is
 */
export async function leave(
  hub: HubObjects,
  name: string,
  forceAfter: string | undefined,
  terminal: Terminal,
  waiting: Waiting,
): Promise<void> {
  const path = joinPath(name);
  const join = await hub.get(path);
  if (join === undefined)
    throw usageFailure(`there is no ClusterJoin "${name}"`, 'List them: kubectl get clusterjoins');
  if (forceAfter !== undefined) await hub.patch(path, { spec: { deregisterPolicy: `ForceAfter:${forceAfter}` } });
  await hub.remove(path);
  const tell = teller(terminal);
  let leaving: HubObject | undefined = join;
  await poll(terminal, waiting, async () => {
    leaving = await hub.get(path);
    if (leaving === undefined) return undefined;
    const left = conditionsIn(leaving).find(({ type }) => type === 'Left');
    if (left !== undefined) tell(left);
    return left?.message ?? unseen;
  });
  terminal.print(`${name} has left\n`);
}

/**
 * Calls `ask` again and again until it resolves with undefined. Otherwise `ask` resolves with what is still missing.
 * @throws Failure after the timeout, with what was missing last
 */
async function poll(terminal: Terminal, waiting: Waiting, ask: () => Promise<string | undefined>): Promise<void> {
  const deadline = terminal.nowMs() + waiting.timeoutMs;
  for (;;) {
    const missing = await ask();
    if (missing === undefined) return;
    if (terminal.nowMs() > deadline)
      throw new Failure(
        `not done after ${waiting.timeoutMs / 1000} s: ${missing}`,
        'The gateway goes on; look at it with: kubectl get clusterjoins -o yaml',
      );
    await delay(waiting.pollMs);
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

function conditionsIn({ status }: HubObject): readonly Condition[] {
  const conditions = isJsonObject(status) ? status['conditions'] : undefined;
  return Array.isArray(conditions) ? (conditions as readonly Condition[]) : [];
}

/** Returns a function that prints a condition, unless it printed the same text for this type of condition last. */
function teller(terminal: Pick<Terminal, 'note'>): (condition: Condition) => void {
  const reported = new Map<string, string>();
  return ({ type, status, message }) => {
    const line = `${type} ${status}: ${message}\n`;
    if (reported.get(type) !== line) terminal.note(line);
    reported.set(type, line);
  };
}
