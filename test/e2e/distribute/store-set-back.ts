// Sets one API server's store back to an earlier state, as the restore of a backup does: its keys are read from etcd,
// and written back while the API server is down. Other API servers on the same etcd are not touched.
import { readFileSync } from 'node:fs';
import type { Member } from '../../controlplane/fixture.ts';

interface Pair {
  readonly key: string;
  readonly value: string;
}

/** Reads the whole store of an API server. */
export async function readStore(member: Member): Promise<readonly Pair[]> {
  const { url, range } = storeOf(member);
  const { kvs = [] } = (await ask(`${url}/v3/kv/range`, range)) as { kvs?: readonly Pair[] };
  return kvs.map(({ key, value }) => ({ key, value }));
}

/** Kills the API server, puts the store back to what was read, and starts it again. */
export async function setStoreBack(member: Member, pairs: readonly Pair[]): Promise<void> {
  const { url, range } = storeOf(member);
  await member.kill();
  await ask(`${url}/v3/kv/deleterange`, range);
  for (const pair of pairs) await ask(`${url}/v3/kv/put`, pair);
  await member.restart();
}

/** Where the API server keeps its objects, from its own flags. */
function storeOf({ pid }: Member): { readonly url: string; readonly range: object } {
  const flags = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  const flag = (name: string): string => flags.find((each) => each.startsWith(`--${name}=`))!.slice(name.length + 3);
  const prefix = `${flag('etcd-prefix')}/`;
  // The first key behind all that begin with the prefix: `0` follows `/`.
  const end = `${prefix.slice(0, -1)}0`;
  return { url: flag('etcd-servers'), range: { key: base64(prefix), range_end: base64(end) } };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

async function ask(url: string, body: object): Promise<unknown> {
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}
