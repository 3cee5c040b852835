// Builds one frozen Config from the flags and the configuration file, or reports all faults at once. Each section is
// checked in a file of its own; combinations.ts refuses settings that must not be used together.
import { ConfigurationError } from '../lib/configuration-error.ts';
import type { ConfigurationFault } from '../lib/configuration-error.ts';
import { readAuditConfig } from './sections/audit-config.ts';
import { readTracingConfig } from './sections/tracing-config.ts';
import { readClusters } from './clusters-config.ts';
import { refuseCombinations } from './combinations.ts';
import type { ReadSections } from './combinations.ts';
import type { Config } from './configuration.ts';
import { readConsoleConfig } from './sections/console-config.ts';
import { readHubConfig, runsInPod } from './sections/hub-config.ts';
import { readIdentityConfig } from './sections/identity-config.ts';
import { readIndexConfig } from './sections/index-config.ts';
import { readIndexStore } from './sections/index-store-config.ts';
import { readLimitsConfig } from './sections/limits-config.ts';
import { readListeners } from './listeners-config.ts';
import { readLogins } from './logins-config.ts';
import { readProcess } from './process-config.ts';
import { readTimeScale, withTimeScale } from './time-scale.ts';
import { readSettings } from './settings/settings.ts';
import type { Fault } from './settings/settings.ts';
import { workerSettings } from './workers-config.ts';
import { readWritten } from './written.ts';
import type { ConfigInput } from './written.ts';

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
  const clusters = readClusters(written);
  const isSelf = clusters.identity === 'self';

  const sections: ReadSections = {
    ...clusters,
    ...readListeners(written),
    ...readLogins(written, isSelf),
    ...readProcess(written, environment),
    ...readSettings(workerSettings, written),
    hub: isSelf ? undefined : readHubConfig(written, inPod, environment),
    audit: readAuditConfig(written),
    limits: readLimitsConfig(written),
    index: readIndexConfig(written, isSelf, readIndexStore(written, environment)),
    tracing: readTracingConfig(written, environment, (one) => void faults.push(one)),
    outgoing: readIdentityConfig(written),
    console: readConsoleConfig(written),
  };
  refuseCombinations(sections, written);
  const timeScale = readTimeScale(environment, fault);
  if (faults.length > 0) throw new ConfigurationError(faults);

  return withTimeScale(Object.freeze({ ...sections, timeScale: 1 }), timeScale);
}
