// Flags and the configuration file → one frozen Config, every fault reported at once. Easy to get wrong: a value of the
// file wins over a default and loses to a flag; combinations that would weaken identity are refused here, before any
// socket opens.
import { homedir } from 'node:os';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { collectionKey, collectionKeyOffset } from '../../lib/yaml/checked-yaml.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import type { ConfigurationFault } from '../../lib/configuration-error.ts';
import type { IdentityMode } from '../../cache/model/records.ts';
import { firstByteTimeoutMs } from '../../lib/limits.ts';
import { yamlFaultText } from '../../lib/yaml/yaml-message.ts';
import { auditFileFields, auditInput, readAuditConfig } from '../audit/config.ts';
import type { AuditInput } from '../audit/config.ts';
import { authenticationFileFields, readAuthenticationFlags } from './authentication-flags.ts';
import type { AuthenticationInput } from './authentication-flags.ts';
import { isLoopback, parseHostPort } from '../../lib/text/host-port.ts';
import type { HostPort } from '../../lib/text/host-port.ts';
import { hubFileFields, readHubConfig, runsInPod } from './hub-config.ts';
import type { HubInput } from './hub-config.ts';
import { identityFileFields, readIdentityConfig } from './identity-config.ts';
import type { IdentityInput } from './identity-config.ts';
import { indexFileFields, readIndexConfig } from './index-config.ts';
import type { IndexInput } from './index-config.ts';
import { limitsFileFields, readLimitsConfig } from './limits-config.ts';
import type { LimitsInput } from './limits-config.ts';
import { readTimeScale, withTimeScale } from './time-scale.ts';
import { readWorkers, refuseWithWorkers } from './workers-config.ts';
import type { WorkersInput } from './workers-config.ts';
import { readTracingConfig, tracingFileFields } from '../tracing/config.ts';
import type { TracingInput } from '../tracing/config.ts';
import type { Config } from './configuration.ts';

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

const text = z.string().min(1);
const seconds = z.number().min(0).max(3600);

/** The file: the flags' names in camel case, and what has no flag. */
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
  workers: z.union([z.number(), text]).optional(),
});
type FileInput = z.output<typeof fileSchema>;

const domainForm = /^(?=.{1,190}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

/**
 * Builds the configuration of `serve`.
 * @throws ConfigurationError with every fault: file, line or flag, and reason
 */
export function readConfig(
  flags: ConfigInput,
  environment: NodeJS.ProcessEnv = process.env,
  inPod: boolean = runsInPod(environment),
): Config {
  const file = flags.config === undefined ? {} : readFile(flags.config);
  const faults: ConfigurationFault[] = [];
  const fault = (flag: string, message: string): void => void faults.push({ file: flag, message });
  // A path in the file starts at the file's folder, one in a flag at the working directory, as with kubeconfigs.
  const folder = flags.config === undefined ? '' : dirname(resolve(flags.config));
  const path = (
    name:
      | 'authenticationConfig'
      | 'dataDir'
      | 'tokenAuthFile'
      | 'clientCaFile'
      | 'authorizationRules'
      | 'tlsCertFile'
      | 'tlsPrivateKeyFile',
  ) => {
    const flag = flags[name];
    if (flag !== undefined) return resolve(flag);
    return file[name] === undefined ? undefined : resolve(folder, file[name]);
  };
  const address = (flag: string, value: string): HostPort => {
    const parsed = parseHostPort(value);
    if (parsed === undefined) fault(flag, `"${value}" is not HOST:PORT, for example 127.0.0.1:8443`);
    return parsed ?? { host: '127.0.0.1', port: 0 };
  };

  const listen = address('--listen', flags.listen ?? file.listen ?? '127.0.0.1:8443');
  const opsListen = address('--ops-listen', flags.opsListen ?? file.opsListen ?? '127.0.0.1:8090');
  const fromFile = file.kubeconfig === undefined ? [] : [file.kubeconfig].flat().map((one) => resolve(folder, one));
  const kubeconfigs = flags.kubeconfig?.map((one) => resolve(one)) ?? fromFile;
  const identity = flags.identity ?? file.identity ?? 'impersonate';
  const clusterDomain = (flags.clusterDomain ?? file.clusterDomain)?.toLowerCase();
  const certFile = path('tlsCertFile');
  const keyFile = path('tlsPrivateKeyFile');
  const tokenAuthFile = path('tokenAuthFile');
  const clientCaFile = path('clientCaFile');
  const authentication = readAuthenticationFlags(
    { authenticationConfig: path('authenticationConfig'), anonymousAuth: flags.anonymousAuth ?? file.anonymousAuth },
    identity === 'self',
    fault,
  );

  const fromFolder = absolutePaths(file, folder);
  const hub = identity === 'self' ? undefined : readHubConfig(flags, fromFolder, fault, inPod, environment);
  if (hub?.serving !== undefined && certFile !== undefined)
    fault('--serving-secret', 'not with --tls-cert-file: one of them brings the certificate');
  const audit = readAuditConfig(auditInput(flags), auditInput(file), folder, fault);
  const limits = readLimitsConfig({ ...file, ...flags }, fault);
  const index = readIndexConfig({ ...file, ...flags }, fault);
  const tracing = readTracingConfig(flags, file, folder, environment, (one) => void faults.push(one));
  const outgoing = readIdentityConfig({ ...fromFolder, ...identityFlags(flags) }, fault);
  if (kubeconfigs.length === 0 && hub === undefined)
    fault(
      '--kubeconfig',
      'no clusters: give at least one kubeconfig, for example --kubeconfig ~/.kube/config, or a hub with --hub-kubeconfig FILE',
    );
  if (kubeconfigs.length > 0 && hub?.sources.includes('kubeconfig') === false)
    fault('--kubeconfig', 'would be ignored: --sources does not name "kubeconfig"');
  if (identity !== 'impersonate' && identity !== 'self') fault('--identity', 'must be "impersonate" or "self"');
  if ((certFile === undefined) !== (keyFile === undefined))
    fault('--tls-cert-file', '--tls-cert-file and --tls-private-key-file go together');
  if (clusterDomain !== undefined && !domainForm.test(clusterDomain))
    fault('--cluster-domain', 'must be a DNS name such as clusters.example.com');
  if (identity === 'self') {
    if (!isLoopback(listen.host)) {
      fault(
        '--identity',
        '--identity=self lends the rights of your kubeconfig to whoever has the token: it is served on a loopback address only; use --listen 127.0.0.1:8443',
      );
    }
    if (tokenAuthFile !== undefined)
      fault('--token-auth-file', 'not with --identity=self, which has one generated token and no other users');
    if (clientCaFile !== undefined)
      fault('--client-ca-file', 'not with --identity=self, which has one generated token and no other users');
    if (flags.hubKubeconfig !== undefined && flags.hubKubeconfig !== '')
      fault('--hub-kubeconfig', 'not with --identity=self, which has one generated token and no other users');
  } else if (
    tokenAuthFile === undefined &&
    clientCaFile === undefined &&
    authentication.configFile === undefined &&
    hub === undefined
  ) {
    fault(
      '--token-auth-file',
      'nobody could log in: give --token-auth-file, --client-ca-file, --authentication-config or --hub-kubeconfig, or --identity self to use the gateway just for yourself',
    );
  }
  const workers = readWorkers({ ...file, ...flags }, fault);
  refuseWithWorkers({ identity: identity as IdentityMode, index, limits }, workers, fault);
  const timeScale = readTimeScale(environment, fault);
  if (faults.length > 0) throw new ConfigurationError(faults);
  const config: Config = Object.freeze({
    listen,
    opsListen,
    dataDir: path('dataDir') ?? defaultDataDir(environment),
    kubeconfigs,
    tokenAuthFile,
    clientCaFile,
    authentication,
    authorizationRules: path('authorizationRules'),
    identity: identity as IdentityMode,
    clusterDomain,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    logLevel: file.logLevel ?? 'info',
    shutdownDelayMs: (file.shutdownDelaySeconds ?? 1) * 1000,
    shutdownGraceMs: (file.shutdownGraceSeconds ?? 10) * 1000,
    firstByteTimeoutMs:
      file.firstByteTimeoutSeconds === undefined ? firstByteTimeoutMs : file.firstByteTimeoutSeconds * 1000,
    probeIntervalMs: (file.probeIntervalSeconds ?? 10) * 1000,
    timeScale: 1,
    outgoing,
    limits,
    audit,
    hub,
    // What would only start with the first question does not exist beside workers.
    index: workers === 1 ? index : undefined,
    tracing,
    workers,
  });
  return withTimeScale(config, timeScale);
}

/** Paths of the file's hub and identity parts, from the file's folder on. */
function absolutePaths(file: FileInput, folder: string): HubInput & IdentityInput {
  const given: Record<string, unknown> = { ...file };
  for (const name of ['hubKubeconfig', 'proxyCaCert', 'proxyCert', 'proxyKey', 'identityExchange']) {
    const path = given[name];
    if (typeof path === 'string' && path !== '') given[name] = resolve(folder, path);
  }
  return given as HubInput & IdentityInput;
}

/** Flags of the identity part that were given, its paths from the working directory on. */
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

/** `$XDG_STATE_HOME/portcullis`, by the XDG base directory specification below the home folder when unset. */
export function defaultDataDir(environment: NodeJS.ProcessEnv): string {
  const state = environment['XDG_STATE_HOME'];
  return join(state === undefined || !state.startsWith('/') ? join(homedir(), '.local', 'state') : state, 'portcullis');
}

function readFile(file: string): FileInput {
  let source: string;
  try {
    source = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigurationError([
      { file, message: `cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown fault'}` },
    ]);
  }
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, uniqueKeys: true, logLevel: 'error' });
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
  let plain: unknown;
  try {
    plain = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    // An alias without an anchor, or too many of them, is told only now.
    throw new ConfigurationError([
      { file, message: yamlFaultText(error instanceof Error ? error.message : 'cannot be read') },
    ]);
  }
  const parsed = fileSchema.safeParse(plain ?? {});
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
