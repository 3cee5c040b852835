// Reads the configuration file: which keys it may hold, and in which line each fault is.
import { LineCounter, parseDocument } from 'yaml';
import type { Document } from 'yaml';
import { z } from 'zod';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { collectionKey, collectionKeyOffset } from '../../lib/yaml/checked-yaml.ts';
import { yamlFaultText } from '../../lib/yaml/yaml-message.ts';
import { auditFileFields } from '../audit/config.ts';
import { tracingFileFields } from '../tracing/config.ts';
import { authenticationFileFields } from './authentication-flags.ts';
import { consoleFileFields } from '../console/config.ts';
import { hubFileFields } from './hub-config.ts';
import { identityFileFields } from './identity-config.ts';
import { indexFileFields } from './index-config.ts';
import { limitsFileFields } from './limits-config.ts';
import { readText } from './values.ts';

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

/**
 * Reads the configuration file.
 * @throws ConfigurationError that names every fault with its line
 */
export function readConfigFile(file: string): FileInput {
  const lines = new LineCounter();
  const document = parseDocument(readText(file), { lineCounter: lines, uniqueKeys: true, logLevel: 'error' });
  if (document.errors.length > 0) {
    throw new ConfigurationError(
      document.errors.map((error) => {
        const at = lines.linePos(error.pos[0]);
        return {
          file,
          line: at.line,
          column: at.col,
          message: yamlFaultText(error.message.split('\n', 1)[0]!.replace(/ at line \d+.*$/, '')),
        };
      }),
    );
  }
  const keyOffset = collectionKeyOffset(document);
  if (keyOffset !== undefined)
    throw new ConfigurationError([{ file, line: lines.linePos(keyOffset).line, message: collectionKey }]);
  const parsed = fileSchema.safeParse(plainOf(document, file) ?? {});
  if (parsed.success) return parsed.data;
  throw new ConfigurationError(
    parsed.error.issues.map((issue) => {
      const node = document.getIn(issue.path.length === 0 ? [] : (issue.path as string[]), true) as
        | { range?: [number, number, number] }
        | undefined;
      const at = node?.range === undefined ? undefined : lines.linePos(node.range[0]);
      return { file, line: at?.line, column: at?.col, path: issue.path.join('.') || undefined, message: issue.message };
    }),
  );
}

/**
 * The plain values of a YAML document. Only this conversion reports an alias without an anchor, or too many aliases;
 * the YAML parser accepts them.
 * @throws ConfigurationError for these faults
 */
function plainOf(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    const message = yamlFaultText(error instanceof Error ? error.message : 'cannot be read');
    throw new ConfigurationError([{ file, message }]);
  }
}
