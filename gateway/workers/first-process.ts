// A gateway with several workers, as its first process runs it: this process watches, probes and writes, and sends what
// it learns to the workers, which answer the requests.
import { addressFault } from '../start/address-fault.ts';
import { assembled } from '../start/closing.ts';
import type { Closers } from '../start/closing.ts';
import type { Config } from '../config/configuration.ts';
import type { Gateway } from '../start/gateway.ts';
import { flushMs } from '../open-streams/drain.ts';
import type { Log } from '../operations/log.ts';
import type { Operations } from '../operations/operations.ts';
import { openOperations, probeMembers, startSharedParts } from '../start/shared-parts.ts';
import type { SharedParts } from '../start/shared-parts.ts';
import { sendProbed } from './broadcast.ts';
import { startImportsOf } from '../start/imports.ts';
import { startHandover } from './handover.ts';
import type { Handover } from './handover.ts';
import { startTeam } from './team.ts';
import type { Team } from './team.ts';

/** Time beyond the grace that workers have for closing connections and sending what they recorded. */
const endingMs = 5_000;

/**
 * Starts a gateway of `config.workers` workers.
 * @throws as `startGateway` does; Error when a worker cannot start
 */
export async function startWorkers(config: Config, log: Log, version: string): Promise<Gateway> {
  return await assembled((closers, closeAll) => assemble(config, log, version, closers, closeAll));
}

async function assemble(
  config: Config,
  log: Log,
  version: string,
  closers: Closers,
  closeAll: () => void,
): Promise<Gateway> {
  let unready = false;
  let team: Team | undefined;
  let operations: Operations | undefined;
  let handover: Handover | undefined;
  const files = new Map<string, readonly string[]>();
  const onFile = (label: string, texts: readonly string[]): void => {
    files.set(label, texts);
    team?.send({ kind: 'file', label, texts });
  };
  const parts = await startSharedParts({ config, log, version, closers, shuttingDown: () => unready, onFile });
  team = startTeam(parts, files, () => handover);
  const { serving } = parts;
  serving.onChange(() => {
    team.send({ kind: 'serving', pair: serving.current() });
    operations?.setTls(serving.current());
  });
  await team.ready;

  operations = await openOperations(parts, team.page, parts.checks);
  handover = await openHandover(parts, team);
  probeForWorkers(parts, team);
  const imports = startImportsOf(parts, undefined);
  const { url, close: stopAccepting } = handover;
  return {
    url,
    opsUrl: operations.url,
    caFile: serving.caFile,
    selfToken: undefined,
    async drain() {
      unready = true;
      team.send({ kind: 'unready' });
      if (config.shutdownDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, config.shutdownDelayMs));
      stopAccepting();
      await team.drain(config.shutdownGraceMs + endingMs);
      await Promise.all([parts.audit?.flush(flushMs), imports?.close()]);
      closeAll();
    },
    close: closeAll,
  };
}

/** @throws AddressError when the address cannot be had */
async function openHandover({ options }: SharedParts, team: Team): Promise<Handover> {
  const { config, closers } = options;
  const handover = await startHandover(config.listen, {
    taker: () => team.idlest()?.take,
    maxWaiting: config.limits.connections,
  }).catch(addressFault('--listen', config.listen));
  closers.push(() => handover.close());
  return handover;
}

/** Probes the members and sends the workers what was found. */
function probeForWorkers(parts: SharedParts, team: Team): void {
  const findings = sendProbed(team.send, ({ credential }) => {
    const id = credential?.kind === 'exec' ? team.credentialId(credential) : undefined;
    if (id !== undefined) team.send({ kind: 'forget-credential', id });
  });
  parts.options.closers.push(() => findings.close());
  probeMembers(parts, findings);
}
