// Reads the configuration file: which keys it may hold, and in which line each fault is.
import { z } from 'zod';
import { ConfigurationError } from '../lib/configuration-error.ts';
import { readYaml } from '../lib/yaml/checked-yaml.ts';
import { auditFileFields } from './sections/audit-config.ts';
import { tracingFileFields } from './sections/tracing-config.ts';
import { authenticationFileFields } from './sections/authentication-flags.ts';
import { consoleFileFields } from './sections/console-config.ts';
import { hubFileFields } from './sections/hub-config.ts';
import { identityFileFields } from './sections/identity-config.ts';
import { indexFileFields } from './sections/index-config.ts';
import { limitsFileFields } from './sections/limits-config.ts';
import { readText } from './values/values.ts';

const text = z.string().min(1);
const seconds = z.number().min(0).max(3600);

/** Schema of the configuration file. Most keys are names of flags in camel case; a few settings have no flag. */
const fileSchema = z.strictObject({
  apiVersion: z.literal('config.portcullis.io/v1alpha1').optional(),
  kind: z.literal('GatewayConfiguration').optional(),
  listen: text.optional(),
  opsListen: text.optional(),
  dataDir: text.optional(),
  kubeconfig: z.union([text, z.array(text)]).optional(),
  tokenAuthFile: text.optional(),
  clientCaFile: text.optional(),
  authorizationRules: text.optional(),
  identity: z.enum(['impersonate', 'self']).optional(),
  clusterDomain: text.optional(),
  tlsCertFile: text.optional(),
  tlsPrivateKeyFile: text.optional(),
  logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).optional(),
  shutdownDelaySeconds: seconds.optional(),
  shutdownGraceSeconds: seconds.optional(),
  firstByteTimeoutSeconds: seconds.optional(),
  probeIntervalSeconds: z.number().min(0.1).max(3600).optional(),
  ...identityFileFields,
  ...limitsFileFields,
  ...auditFileFields,
  ...authenticationFileFields,
  ...hubFileFields,
  ...indexFileFields,
  ...tracingFileFields,
  ...consoleFileFields,
  workers: z.union([z.number(), text]).optional(),
});
export type FileInput = z.output<typeof fileSchema>;
/** An empty file sets nothing. */
const optionalFile = z.preprocess((value) => value ?? {}, fileSchema);

/**
 * Reads the configuration file.
 * @throws ConfigurationError that names every fault with its line
 */
export function readConfigFile(file: string): FileInput {
  const read = readYaml(readText(file), file, optionalFile);
  if ('faults' in read) throw new ConfigurationError(read.faults);
  return read.value;
}
