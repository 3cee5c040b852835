// A gateway process with the witness inside, and how tests speak to it. One command at a time, each waited for, since
// there is one file.
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { eventually } from '../site/polling.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayOptions, GatewayProcess } from '../gateway-process.ts';
import { scaledEnvironment } from './scale.ts';
import type { Holdings, WitnessCommand } from './witness.ts';

/** A gateway one can ask what it holds. */
export interface WitnessedGateway extends GatewayProcess {
  /** Tells the witness and resolves with its answer; `block` answers when it is over. */
  tell(command: WitnessCommand): Promise<unknown>;
  holdings(): Promise<Holdings>;
}

/** Flags and environment that load the witness. */
export function witnessOptions(): { readonly folder: string } & Required<Pick<GatewayOptions, 'nodeArgs' | 'env'>> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-witness-'));
  return {
    folder,
    nodeArgs: ['--expose-gc', '--import', join(import.meta.dirname, 'witness.ts')],
    env: { ...scaledEnvironment, PORTCULLIS_WITNESS: folder },
  };
}

/** Starts a gateway at the time scale of the run. */
export async function startWitnessedGateway(options: GatewayOptions): Promise<WitnessedGateway> {
  const { folder, nodeArgs, env } = witnessOptions();
  const gateway = await startGatewayProcess({
    ...options,
    nodeArgs: [...nodeArgs, ...(options.nodeArgs ?? [])],
    env: { ...env, ...options.env },
  });
  return { ...gateway, ...tongueOf(folder, gateway.pid) };
}

/** How to speak to the witness of a process. */
export function tongueOf(folder: string, pid: number): Pick<WitnessedGateway, 'tell' | 'holdings'> {
  const tell = async (command: WitnessCommand): Promise<unknown> => {
    const id = randomUUID();
    writeFileSync(join(folder, 'command.json'), JSON.stringify({ id, command }));
    process.kill(pid, 'SIGUSR2');
    const answer = join(folder, `${id}.json`);
    await eventually(`the witness answers ${command.kind}`, () => existsSync(answer), { timeoutMs: 60_000 });
    return JSON.parse(readFileSync(answer, 'utf8'));
  };
  return { tell, holdings: async () => (await tell({ kind: 'count' })) as Holdings };
}
