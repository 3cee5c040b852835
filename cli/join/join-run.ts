// `portcullis join` and `unjoin`: write a ClusterJoin on the hub, and tell what the gateway makes of it until it is
// done.
import { setTimeout as delay } from 'node:timers/promises';
import { Failure, usageFailure } from '../failure.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import type { Terminal } from '../terminal.ts';
import { joinsPath, type HubObject, type HubObjects } from './hub-objects.ts';

/** What a join is made of. */
export interface JoinRequest {
  readonly name: string;
  /** Namespace of the bootstrap Secret. */
  readonly namespace: string;
  /** The kubeconfig that the Secret gets. */
  readonly kubeconfig: string;
  /** Further fields of the ClusterJoin's spec. */
  readonly spec: JsonObject;
}

export interface Waiting {
  readonly timeoutMs: number;
  readonly pollMs: number;
}

/** Faults that waiting does not mend. */
const lasting = new Set([
  ...['RightsMissing', 'AlreadyJoined', 'NameTaken', 'ForeignObjects', 'OtherCluster'],
  ...['InvalidBootstrap', 'CredentialRefused', 'BundleMissing'],
]);

/**
 * Makes the bootstrap Secret and the ClusterJoin.
 * @throws Failure when the hub refuses one of them; then neither is left
 */
export async function declareJoin(hub: HubObjects, { name, namespace, kubeconfig, spec }: JoinRequest): Promise<void> {
  if ((await hub.get(`${joinsPath}/${name}`)) !== undefined)
    throw usageFailure(`there is a ClusterJoin "${name}" already`, `Let it leave first: portcullis unjoin ${name}`);
  const secrets = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
  const secret = await hub.create(secrets, {
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
    await hub.remove(`${secrets}/${secret.metadata.name}`).catch(() => false);
    throw error;
  }
}

/** Waits until the cluster is ready. @throws Failure when a step fails for good, or when the time is over */
export async function awaitReady(hub: HubObjects, name: string, terminal: Terminal, waiting: Waiting): Promise<void> {
  const tell = teller(terminal);
  await poll(terminal, waiting, async () => {
    const join = await hub.get(`${joinsPath}/${name}`);
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
    return ready?.status === 'True' ? undefined : (ready?.message ?? 'the gateway has not looked at it yet');
  });
  terminal.print(`${name} has joined\n`);
}

/**
 * Deletes the ClusterJoin and waits until the cluster has left.
 * @param forceAfter duration after which an unreachable cluster is given up; undefined leaves that as it is
 */
export async function leave(
  hub: HubObjects,
  name: string,
  forceAfter: string | undefined,
  terminal: Terminal,
  waiting: Waiting,
): Promise<void> {
  const path = `${joinsPath}/${name}`;
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
    return left?.message ?? 'the gateway has not looked at it yet';
  });
  terminal.print(`${name} has left\n`);
}

/** Asks again until `ask` resolves with undefined. @throws Failure with what it said last when the time is over */
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

/** Writes a line for each condition when it is new or says something else. */
function teller(terminal: Pick<Terminal, 'note'>): (condition: Condition) => void {
  const told = new Map<string, string>();
  return ({ type, status, message }) => {
    const line = `${type} ${status}: ${message}\n`;
    if (told.get(type) !== line) terminal.note(line);
    told.set(type, line);
  };
}
