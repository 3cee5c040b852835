// Checks everything that `portcullis serve` would read, without serving. A file that cannot be read does not stop the
// checks of other files. The checks write nothing: they make no data directory and change no Secret on the hub.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAuthenticationConfig } from '../../auth/jwt/authentication-config.ts';
import { parseRules } from '../../auth/rules/rules.ts';
import { parseTokenFile } from '../../auth/callers/static-token.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../model/errors.ts';
import { listKubeconfigs } from '../../cache/sources/kubeconfig/kubeconfig-folder.ts';
import { readAuditPolicy } from '../audit/policy.ts';
import { readConfig } from '../../config/config.ts';
import type { Config } from '../../config/configuration.ts';
import type { ConfigInput } from '../../config/written.ts';
import { makeLog } from '../../lib/log.ts';
import { startOutgoingIdentities } from '../users/outgoing.ts';
import { makeReloading } from '../../config/reloading.ts';
import { certificateUnread, certificateWeaknesses } from './certificates.ts';
import type { CertificatePurpose } from './certificates.ts';
import { clusterFindings } from './clusters-now.ts';
import { fileWeaknesses } from './files.ts';
import type { WatchedFile } from './files.ts';
import { hubWeaknesses } from './hub.ts';
import { indexStoreWeaknesses } from './index-store.ts';
import { currentContextWeaknesses, secretFilesOf } from './kubeconfigs.ts';
import { settingsWeaknesses } from './settings.ts';
import { authenticationWeaknesses, rulesWeaknesses, tokenFileWeaknesses } from './users.ts';
import { bySeverity } from './weakness.ts';
import type { CheckResult, Unread, Weakness } from './weakness.ts';
import type { CheckOptions } from './weakness.ts';

/**
 * Checks the configuration that these flags give. Whatever would keep `serve` from starting is returned in `unread`.
 */
export async function checkConfiguration(flags: ConfigInput, options: CheckOptions): Promise<CheckResult> {
  let config: Config;
  try {
    config = readConfig(flags);
  } catch (error) {
    return { weaknesses: [], unread: unreadOf('', error) };
  }
  return checkRead(config, options);
}

/** Runs one check. An error that it throws becomes an entry of `unread` about this file or flag. */
type Look = (where: string, read: () => readonly Weakness[] | Promise<readonly Weakness[]>) => Promise<void>;

const textOf = (file: string): string => readFileSync(file, 'utf8');

async function checkRead(config: Config, options: CheckOptions): Promise<CheckResult> {
  const weaknesses: Weakness[] = [...settingsWeaknesses(config)];
  const unread: Unread[] = [];
  const look: Look = async (where, read) => {
    try {
      weaknesses.push(...(await read()));
    } catch (error) {
      unread.push(...unreadOf(where, error));
    }
  };
  const { nowMs } = options;
  const { hub, index } = config;

  await checkUserFiles(config, look);
  await checkAudit(config, look, nowMs);
  for (const [file, purpose] of certificateFiles(config)) {
    await look(file, () => {
      const pem = textOf(file);
      unread.push(...certificateUnread(pem, file, purpose));
      return certificateWeaknesses(pem, file, purpose, nowMs);
    });
  }
  if (hub !== undefined) {
    weaknesses.push(...hubWeaknesses(hub));
    const { kubeconfig } = hub;
    if (kubeconfig !== undefined) await look(kubeconfig, () => currentContextWeaknesses(kubeconfig, 'hub', nowMs));
  }
  const modes = fileWeaknesses(await watchedFiles(config, look));
  weaknesses.push(...modes.weaknesses);
  unread.push(...modes.unread);
  if (index?.store !== undefined) {
    const { store } = index;
    await look('--index-store', () => indexStoreWeaknesses(store, options));
  }
  await look('clusters', async () => {
    const found = await clusterFindings(config, options);
    unread.push(...found.unread);
    return found.weaknesses;
  });
  return { weaknesses: bySeverity(weaknesses), unread: distinct(unread) };
}

/** Checks the files that define users and their rights. */
async function checkUserFiles(config: Config, look: Look): Promise<void> {
  const { tokenAuthFile, authorizationRules, authentication } = config;
  if (tokenAuthFile !== undefined)
    await look(tokenAuthFile, () =>
      tokenFileWeaknesses(parseTokenFile(textOf(tokenAuthFile), tokenAuthFile), tokenAuthFile),
    );
  const authenticationFile = authentication.configFile;
  if (authenticationFile !== undefined) {
    await look(authenticationFile, () =>
      authenticationWeaknesses(
        readAuthenticationConfig(textOf(authenticationFile), authenticationFile),
        authenticationFile,
      ),
    );
  }
  if (authorizationRules !== undefined)
    await look(authorizationRules, () => rulesWeaknesses(parseRules(textOf(authorizationRules), authorizationRules)));
  await look('--identity-exchange', () => readExchange(config));
}

async function checkAudit({ audit }: Config, look: Look, nowMs: number): Promise<void> {
  if (audit === undefined) return;
  await look(audit.policyFile, () => auditWeaknesses(textOf(audit.policyFile), audit.policyFile));
  const webhook = audit.webhook?.configFile;
  if (webhook !== undefined) await look(webhook, () => currentContextWeaknesses(webhook, 'audit webhook', nowMs));
}

function unreadOf(where: string, error: unknown): readonly Unread[] {
  // The messages of ConfigurationError and GatewayError name file and line already.
  if (error instanceof ConfigurationError || error instanceof GatewayError)
    return error.message.split('\n').flatMap((line, index, all) => {
      // The first line of a message is skipped when it is only a heading for the lines below.
      const isHeading = index === 0 && all.length > 1 && line.endsWith(':');
      return isHeading ? [] : [{ where, what: line.trim() }];
    });
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string') throw error;
  return [{ where, what: `cannot be read: ${code}` }];
}

/** Removes duplicates. When a file is read for several purposes, the same fault is found several times. */
function distinct(unread: readonly Unread[]): readonly Unread[] {
  return [...new Map(unread.map((one) => [JSON.stringify([one.where, one.what]), one])).values()];
}

async function readExchange(config: Config): Promise<readonly Weakness[]> {
  const reloading = makeReloading(makeLog('silent'));
  try {
    await startOutgoingIdentities(config.outgoing, reloading);
    return [];
  } finally {
    reloading.close();
  }
}

function auditWeaknesses(source: string, file: string): readonly Weakness[] {
  const { rules } = readAuditPolicy(source, file);
  if (rules.some(({ decision }) => decision !== undefined)) return [];
  return [
    {
      name: 'NoAudit',
      severity: 'medium',
      where: file,
      what: 'the policy records nothing: every rule has level None',
      fix: 'End it with a rule of level Metadata.',
    },
  ];
}

function certificateFiles(config: Config): readonly (readonly [file: string, purpose: CertificatePurpose])[] {
  const found: (readonly [string, CertificatePurpose])[] = [];
  const { clientCaFile, tls, hub } = config;
  if (clientCaFile !== undefined) found.push([clientCaFile, 'certificate authority']);
  if (tls !== undefined) found.push([tls.certFile, 'serving certificate']);
  const own = join(config.dataDir, 'ca.crt');
  if (tls === undefined && hub?.serving === undefined && existsSync(own)) found.push([own, 'certificate authority']);
  const proxy = hub?.clusterProxy;
  if (proxy?.caFile !== undefined) found.push([proxy.caFile, 'certificate authority']);
  if (proxy?.certFile !== undefined) found.push([proxy.certFile, 'client certificate']);
  return found;
}

/**
 * Files that hold secrets, or that decide who may do what; others must not read or change them. Files in the data
 * directory are included only when they exist.
 */
async function watchedFiles(
  config: Config,
  look: (where: string, read: () => readonly Weakness[]) => Promise<void>,
): Promise<readonly WatchedFile[]> {
  const found: WatchedFile[] = [];
  const add = (file: string | undefined, holds: WatchedFile['holds'], kind: string): void => {
    if (file !== undefined) found.push({ file, holds, kind });
  };
  add(config.tokenAuthFile, 'secret', 'token file');
  add(config.tls?.keyFile, 'secret', 'private key');
  add(config.index?.store?.passwordFile, 'secret', "password of the index's database");
  add(config.hub?.clusterProxy?.keyFile, 'secret', 'private key');
  add(config.clientCaFile, 'decision', 'client CA');
  add(config.authentication.configFile, 'decision', 'authentication configuration');
  add(config.authorizationRules, 'decision', 'authorization rules');
  add(config.outgoing.exchangeFile, 'decision', 'identity exchange');
  add(config.audit?.policyFile, 'decision', 'audit policy');
  for (const name of ['ca.key', 'self.token']) {
    const file = join(config.dataDir, name);
    if (existsSync(file)) add(file, 'secret', name === 'ca.key' ? "private key of the gateway's CA" : 'token');
  }
  const { files } = await listKubeconfigs(config.kubeconfigs);
  for (const file of [...files, config.hub?.kubeconfig, config.audit?.webhook?.configFile]) {
    if (file === undefined) continue;
    await look(file, () => {
      found.push(...secretFilesOf(file));
      return [];
    });
  }
  return found;
}
