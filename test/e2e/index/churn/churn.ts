// Objects of a member that change all the time, by chance: created, changed and deleted.
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from '../../../controlplane/fixture.ts';

export interface ChurnOptions {
  /** Path of the ConfigMaps of a namespace. */
  readonly collection: string;
  readonly changesPerSecond: number;
  /** Ends it. */
  readonly signal: AbortSignal;
}

export interface Churned {
  /** Changes that were answered with success. */
  readonly changes: number;
  /** How long it took, with what it was late. */
  readonly seconds: number;
}

type Send = (method: string, path: string, body?: object) => Promise<number>;

/** Sends requests to a member over kept connections; status 0 while it does not answer. */
function sender(member: Member): { readonly agent: Agent; readonly send: Send } {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 12,
    ca: member.caPem,
    cert: member.adminCertPem,
    key: member.adminKeyPem,
  });
  const { hostname, port } = new URL(member.url);
  const send: Send = (method, path, body) =>
    new Promise((resolve) => {
      const headers = { 'content-type': 'application/json' };
      const asked = request({ agent, hostname, port, method, path, headers, timeout: 5_000 }, (answer) => {
        answer.resume();
        answer.once('close', () => resolve(answer.statusCode ?? 0));
      });
      asked.once('error', () => resolve(0));
      asked.once('timeout', () => asked.destroy());
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return { agent, send };
}

/** Creates, changes and deletes by chance until told to stop, and catches up after a pause. */
export async function churn(member: Member, { collection, changesPerSecond, signal }: ChurnOptions): Promise<Churned> {
  const { agent, send } = sender(member);
  const there = new Set<string>();
  let done = 0;
  const one = async (turn: number): Promise<void> => {
    const name = `churn-${Math.floor(Math.random() * 300)}`;
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { turn: String(turn) } };
    const method = !there.has(name) ? 'POST' : Math.random() < 0.25 ? 'DELETE' : 'PUT';
    const path = method === 'POST' ? collection : `${collection}/${name}`;
    const status = await send(method, path, method === 'DELETE' ? undefined : object);
    if (status >= 200 && status < 300) done += 1;
    // A member that was wiped or set back has other objects than were made.
    if (status === 404 || (method === 'DELETE' && status === 200)) there.delete(name);
    else if (status !== 0) there.add(name);
  };
  const startedMs = performance.now();
  for (let turn = 0; !signal.aborted; turn += 1) {
    const dueMs = startedMs + (turn * 1000) / changesPerSecond;
    if (dueMs > performance.now()) await delay(dueMs - performance.now());
    const under = one(turn);
    if (turn % 12 === 0) await under;
  }
  const seconds = (performance.now() - startedMs) / 1000;
  await delay(500);
  agent.destroy();
  return { changes: done, seconds };
}

/** The changes of each member, with the rate of all together. */
export function changesTold(churned: readonly Churned[]): string {
  const all = churned.reduce((sum, { changes }) => sum + changes, 0);
  const seconds = Math.max(...churned.map((each) => each.seconds));
  return `${churned.map(({ changes }) => changes).join(' + ')} (${Math.round(all / seconds)} a second)`;
}
