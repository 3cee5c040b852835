// What a person wrote, in flags and in the configuration file, as the sections of the configuration read it: a flag
// wins over the file, and a relative path starts at the working directory or at the file's folder.
import { dirname, resolve } from 'node:path';
import type { AuditInput } from '../audit/config.ts';
import type { TracingInput } from '../tracing/config.ts';
import type { AuthenticationInput } from './authentication-flags.ts';
import { readConfigFile } from './config-file.ts';
import type { FileInput } from './config-file.ts';
import type { HubInput } from './hub-config.ts';
import type { IdentityInput } from './identity-config.ts';
import type { IndexInput } from './index-config.ts';
import type { LimitsInput } from './limits-config.ts';
import { definedOf } from './values.ts';
import type { Fault } from './values.ts';
import type { WorkersInput } from './workers-config.ts';

/** What a person may write, in flags (as text) or in the file. */
export interface ConfigInput
  extends
    AuditInput,
    AuthenticationInput,
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

/** What the sections read. */
export interface Written {
  readonly flags: ConfigInput;
  /** Empty without a file. */
  readonly file: FileInput;
  /** Folder of the file, '' without one. */
  readonly folder: string;
  /** Flags over file, paths as written. */
  readonly merged: Omit<ConfigInput, 'kubeconfig'>;
  readonly fault: Fault;
}

/** Reads the file that the flags name. @throws ConfigurationError with every fault of the file */
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

/** The absolute path of a setting, or undefined when it was not given. */
export function writtenPath({ flags, file, folder }: Written, name: PathName): string | undefined {
  const flag = flags[name];
  if (flag !== undefined) return resolve(flag);
  return file[name] === undefined ? undefined : resolve(folder, file[name]);
}
