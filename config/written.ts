// The settings as the operator wrote them, in flags and in the configuration file. A flag overrides the file. Relative
// paths in flags refer to the working directory, relative paths in the file to the folder of the file.
import { dirname, resolve } from 'node:path';
import type { AuditInput } from './sections/audit-config.ts';
import type { TracingInput } from './sections/tracing-config.ts';
import type { AuthenticationInput } from './sections/authentication-flags.ts';
import type { ConsoleInput } from './sections/console-config.ts';
import { readConfigFile } from './config-file.ts';
import type { FileInput } from './config-file.ts';
import type { HubInput } from './sections/hub-config.ts';
import type { IdentityInput } from './sections/identity-config.ts';
import type { IndexInput } from './sections/index-config.ts';
import type { LimitsInput } from './sections/limits-config.ts';
import { definedOf } from './values/values.ts';
import type { Fault } from './values/values.ts';
import type { WorkersInput } from './workers-config.ts';

/** All settings, as flags (text) or in the configuration file. */
export interface ConfigInput
  extends
    AuditInput,
    AuthenticationInput,
    ConsoleInput,
    HubInput,
    IdentityInput,
    IndexInput,
    LimitsInput,
    TracingInput,
    WorkersInput {
  readonly config?: string;
  readonly listen?: string;
  readonly opsListen?: string;
  readonly dataDir?: string;
  readonly kubeconfig?: readonly string[];
  readonly tokenAuthFile?: string;
  readonly clientCaFile?: string;
  readonly authorizationRules?: string;
  readonly identity?: string;
  readonly clusterDomain?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
}

/** The settings from flags and file, as the sections of the configuration read them. */
export interface Written {
  readonly flags: ConfigInput;
  /** Settings in the configuration file; empty when there is no file. */
  readonly file: FileInput;
  /** Folder of the configuration file; '' when there is no file. */
  readonly folder: string;
  /** The value of each flag, or of the configuration file when the flag is absent. Paths are as written. */
  readonly merged: Omit<ConfigInput, 'kubeconfig'>;
  readonly fault: Fault;
}

/**
 * Reads the configuration file that `--config` names.
 * @throws ConfigurationError with every fault of the file
 */
export function readWritten(flags: ConfigInput, fault: Fault): Written {
  const file = flags.config === undefined ? {} : readConfigFile(flags.config);
  const folder = flags.config === undefined ? '' : dirname(resolve(flags.config));
  return { flags, file, folder, merged: { ...file, ...definedOf(flags) }, fault };
}

type PathName =
  | 'authenticationConfig'
  | 'dataDir'
  | 'tokenAuthFile'
  | 'clientCaFile'
  | 'authorizationRules'
  | 'tlsCertFile'
  | 'tlsPrivateKeyFile';

/** The absolute path of a setting; undefined when it was not given. */
export function writtenPath({ flags, file, folder }: Written, name: PathName): string | undefined {
  const flag = flags[name];
  if (flag !== undefined) return resolve(flag);
  return file[name] === undefined ? undefined : resolve(folder, file[name]);
}
