// Builds one frozen Config from the flags and the configuration file, or reports all faults at once. Each section is
// checked in a file of its own; combinations.ts refuses settings that must not be used together.
import { resolve } from 'node:path';
import { ConfigurationError } from '../lib/configuration-error.ts';
import type { ConfigurationFault } from '../lib/configuration-error.ts';
import type { IdentityMode } from '../model/records.ts';
import { auditInput, readAuditConfig } from './sections/audit-config.ts';
import { readTracingConfig } from './sections/tracing-config.ts';
import { refuseCombinations } from './combinations.ts';
import type { ReadSections } from './combinations.ts';
import type { Config } from './configuration.ts';
import { readConsoleConfig } from './sections/console-config.ts';
import { readHubConfig, runsInPod } from './sections/hub-config.ts';
import type { HubInput } from './sections/hub-config.ts';
import { identityFileFields, readIdentityConfig } from './sections/identity-config.ts';
import type { IdentityInput } from './sections/identity-config.ts';
import { readIndexConfig } from './sections/index-config.ts';
import { readIndexStore } from './sections/index-store-config.ts';
import { readLimitsConfig } from './sections/limits-config.ts';
import { readListeners } from './listeners-config.ts';
import { readLogins } from './logins-config.ts';
import { readProcess } from './process-config.ts';
import { readTimeScale, withTimeScale } from './time-scale.ts';
import type { Fault } from './values/values.ts';
import { readWorkers } from './workers-config.ts';
import { readWritten } from './written.ts';
import type { ConfigInput, Written } from './written.ts';

/**
 * Builds the configuration of `portcullis serve`.
 * @throws ConfigurationError with every fault: the file and line or the flag, and what is wrong
 */
export function readConfig(
  flags: ConfigInput,
  environment: NodeJS.ProcessEnv = process.env,
  inPod: boolean = runsInPod(environment),
): Config {
  const faults: ConfigurationFault[] = [];
  const fault: Fault = (flag, message) => void faults.push({ file: flag, message });
  const written = readWritten(flags, fault);
  const { file, folder, merged } = written;
  const fromFolder = absolutePaths(written);
  const identity = readIdentityMode(written);
  const isSelf = identity === 'self';

  const sections: ReadSections = {
    identity,
    kubeconfigs: readKubeconfigs(written),
    ...readListeners(written),
    ...readLogins(written, isSelf),
    ...readProcess(written, environment),
    hub: isSelf ? undefined : readHubConfig(flags, fromFolder, fault, inPod, environment),
    audit: readAuditConfig(auditInput(flags), auditInput(file), folder, fault),
    limits: readLimitsConfig(merged, fault),
    index: readIndexConfig(merged, fault, readIndexStore(written, environment)),
    tracing: readTracingConfig(flags, file, folder, environment, (one) => void faults.push(one)),
    outgoing: readIdentityConfig({ ...fromFolder, ...identityFlags(flags) }, fault),
    console: readConsoleConfig(merged, fault),
    workers: readWorkers(merged, fault),
  };
  refuseCombinations(sections, written);
  const timeScale = readTimeScale(environment, fault);
  if (faults.length > 0) throw new ConfigurationError(faults);

  return withTimeScale(Object.freeze({ ...sections, timeScale: 1 }), timeScale);
}

function readIdentityMode({ merged, fault }: Written): IdentityMode {
  const { identity = 'impersonate' } = merged;
  if (identity !== 'impersonate' && identity !== 'self') fault('--identity', 'must be "impersonate" or "self"');
  return identity as IdentityMode;
}

function readKubeconfigs({ flags, file, folder }: Written): readonly string[] {
  if (flags.kubeconfig !== undefined) return flags.kubeconfig.map((one) => resolve(one));
  return file.kubeconfig === undefined ? [] : [file.kubeconfig].flat().map((one) => resolve(folder, one));
}

/** The hub and identity settings of the configuration file, with absolute paths. */
function absolutePaths({ file, folder }: Written): HubInput & IdentityInput {
  const given: Record<string, unknown> = { ...file };
  for (const name of ['hubKubeconfig', 'proxyCaCert', 'proxyCert', 'proxyKey', 'identityExchange', 'profilesCa']) {
    const path = given[name];
    if (typeof path === 'string' && path !== '') given[name] = resolve(folder, path);
  }
  return given as HubInput & IdentityInput;
}

/** The identity settings from flags, with absolute paths. */
function identityFlags(flags: ConfigInput): IdentityInput {
  const given: Record<string, unknown> = {};
  for (const name of [...Object.keys(identityFileFields), 'clusterGatewayProxyConfig'] as (keyof IdentityInput)[]) {
    const value = flags[name];
    if (value === undefined) continue;
    const isPath = name === 'identityExchange' || name === 'clusterGatewayProxyConfig';
    given[name] = isPath && typeof value === 'string' ? resolve(value) : value;
  }
  return given;
}
