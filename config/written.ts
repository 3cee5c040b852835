// The settings as the operator wrote them: flags and the configuration file.
import { dirname, resolve } from 'node:path';
import { readConfigFile } from './config-file.ts';
import { allSettings } from './all-settings.ts';
import type { SettingName } from './all-settings.ts';
import { flagOf, flagsAlone } from './settings/settings.ts';
import type { Fault, Written } from './settings/settings.ts';

/** The flags of `serve`, under the names of the settings; unchecked, undefined when not given. */
export type ConfigInput = { readonly [K in SettingName | Alias]?: unknown } & { readonly config?: string };
/** Other names of flags, which cluster-gateway's users know. */
type Alias = 'clusterGatewayProxyConfig' | 'authorizeProxySubpath';

/**
 * Reads the configuration file that `--config` names. A flag under another name counts as the setting's own.
 * @throws ConfigurationError with every fault of the file
 */
export function readWritten(input: ConfigInput, fault: Fault): Written {
  const flags: Record<string, unknown> = { ...input };
  for (const [name, { alias }] of Object.entries(allSettings)) {
    if (alias === undefined || flags[alias] === undefined) continue;
    if (flags[name] !== undefined && flags[name] !== flags[alias])
      fault(flagOf(name), `${flagOf(alias)} is another name of this flag: give one of them`);
    flags[name] ??= flags[alias];
  }
  if (input.config === undefined) return flagsAlone(flags, fault);
  return { flags, file: readConfigFile(input.config), folder: dirname(resolve(input.config)), fault };
}
