// Reads the configuration file: which keys it may hold, and in which line each fault is.
import { z } from 'zod';
import { ConfigurationError } from '../lib/configuration-error.ts';
import { readYaml } from '../lib/yaml/checked-yaml.ts';
import { readText } from './settings/read-text.ts';
import { allSettings } from './all-settings.ts';

/** Schema of the configuration file. Each setting is a key. */
const fileSchema = z.strictObject({
  apiVersion: z.literal('config.portcullis.io/v1alpha1').optional(),
  kind: z.literal('GatewayConfiguration').optional(),
  ...Object.fromEntries(Object.entries(allSettings).map(([name, { kind }]) => [name, kind.file.optional()])),
});
/** An empty file sets nothing. */
const optionalFile = z.preprocess((value) => value ?? {}, fileSchema);

/**
 * Reads the configuration file.
 * @throws ConfigurationError that names every fault with its line
 */
export function readConfigFile(file: string): Readonly<Record<string, unknown>> {
  const read = readYaml(readText(file), file, optionalFile);
  if ('faults' in read) throw new ConfigurationError(read.faults);
  return read.value;
}
