// Parses the text of one kubeconfig file, or says with line and column why it cannot. Messages of the YAML parser quote
// the faulty line, which may contain a token. So fault messages consist of fixed texts and positions only.
import { isAlias, LineCounter, type Document } from 'yaml';
import { z } from 'zod';
import { ConfigurationError, type ConfigurationFault } from '../../../lib/configuration-error.ts';
import { goFlag, goList, goText } from '../../../lib/yaml/go-fields.ts';
import { plainValue, YamlFault } from '../../../lib/yaml/go-yaml.ts';
import { kubeconfigDocument } from '../../../lib/yaml/kubeconfig-yaml.ts';

/**
 * Longest kubeconfig file that is read, in bytes. A longer one is reported as a fault. Kubeconfigs of hundreds of
 * clusters are smaller than 1 MiB.
 */
export const maxKubeconfigBytes = 10 * 1024 * 1024;
/** How many values YAML aliases of a file may expand to (CVE-2019-11253). */
const mostOfAliases = 10_000;
/** Maximum number of faults of one file that are reported; further faults are left out. */
const maxFaults = 20;

const base64 = goText
  .refine(
    (value) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value.replaceAll(/[\r\n]/g, '')),
    {
      message: 'is not valid base64',
    },
  )
  .transform((value) => Buffer.from(value, 'base64').toString('utf8'));
const entry = <Shape extends z.ZodRawShape>(shape: Shape) => z.preprocess((value) => value ?? {}, z.object(shape));
const name = z.string().min(1, { message: 'must not be empty' });
const extensions = goList(z.object({ name: goText, extension: z.unknown().optional() }));

const clusterSchema = z
  .object({
    name,
    cluster: entry({
      server: goText,
      'certificate-authority': goText,
      'certificate-authority-data': base64,
      'insecure-skip-tls-verify': goFlag,
      'tls-server-name': goText,
      'proxy-url': goText,
      extensions,
    }),
  })
  .transform(({ name, cluster }) => ({
    name,
    server: cluster.server,
    caFile: cluster['certificate-authority'],
    caData: cluster['certificate-authority-data'],
    insecure: cluster['insecure-skip-tls-verify'],
    serverName: cluster['tls-server-name'],
    proxyUrl: cluster['proxy-url'],
    extensions: cluster.extensions,
  }));

const execSchema = z.object({
  apiVersion: goText,
  command: goText,
  args: goList(z.string()),
  env: goList(z.object({ name, value: goText })),
  installHint: goText,
  interactiveMode: goText,
  provideClusterInfo: goFlag,
});

const userSchema = z
  .object({
    name,
    user: entry({
      token: goText,
      tokenFile: goText,
      'client-certificate': goText,
      'client-certificate-data': base64,
      'client-key': goText,
      'client-key-data': base64,
      username: goText,
      password: goText,
      as: goText,
      'as-uid': goText,
      'as-groups': goList(z.string()),
      'as-user-extra': z.record(z.string(), goList(z.string())).nullish(),
      exec: execSchema.nullish(),
      'auth-provider': z.unknown().optional(),
    }),
  })
  .transform(({ name, user }) => ({
    name,
    token: user.token,
    tokenFile: user.tokenFile,
    certificateFile: user['client-certificate'],
    certificateData: user['client-certificate-data'],
    keyFile: user['client-key'],
    keyData: user['client-key-data'],
    username: user.username,
    password: user.password,
    impersonates:
      user.as !== '' ||
      user['as-uid'] !== '' ||
      user['as-groups'].length > 0 ||
      Object.keys(user['as-user-extra'] ?? {}).length > 0,
    exec: user.exec ?? undefined,
    authProvider: (user['auth-provider'] ?? undefined) !== undefined,
  }));

const contextSchema = z
  .object({ name, context: entry({ cluster: goText, user: goText, namespace: goText, extensions }) })
  .transform(({ name, context }) => ({ name, ...context }));

const fileSchema = z.object({
  apiVersion: z.literal(['v1', '']).nullish(),
  kind: z.literal(['Config', '']).nullish(),
  'current-context': goText,
  clusters: goList(clusterSchema),
  users: goList(userSchema),
  contexts: goList(contextSchema),
});

export type ClusterEntry = Readonly<z.output<typeof clusterSchema>>;
export type UserEntry = Readonly<z.output<typeof userSchema>>;
export type ExecEntry = NonNullable<UserEntry['exec']>;
export type ContextEntry = Readonly<z.output<typeof contextSchema>>;

/**
 * One parsed kubeconfig. Contexts are in the order of the file; the cluster and user of a context must be in the same
 * file.
 */
export interface Kubeconfig {
  readonly clusters: ReadonlyMap<string, ClusterEntry>;
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly contexts: readonly ContextEntry[];
  /** The name of the current context; '' when the file has none. */
  readonly currentContext: string;
}

/**
 * Parses and checks one kubeconfig (client-go `clientcmd/api/v1`). Unknown fields are ignored, as in client-go.
 * @param file path of the file, only for messages
 * @throws ConfigurationError with every fault that was found
 */
export function parseKubeconfig(file: string, source: string): Kubeconfig {
  const lines = new LineCounter();
  const at = (offset: number): Pick<ConfigurationFault, 'file' | 'line' | 'column'> => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const document = attempt(file, () => kubeconfigDocument(source, lines));
  if (document === undefined) throw new ConfigurationError([{ file, message: 'the file is empty' }]);

  const parsed = fileSchema.safeParse(attempt(file, () => plainValue(document, lines, mostOfAliases)));
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => ({
      ...at(offsetOf(document, issue.path)),
      path: pathText(issue.path),
      message: issueMessage(issue),
    }));
    throw new ConfigurationError(faults.slice(0, maxFaults));
  }
  const faults: ConfigurationFault[] = [];
  const byName = <Entry extends { readonly name: string }>(
    field: string,
    entries: readonly Entry[],
  ): Map<string, Entry> => {
    const map = new Map<string, Entry>();
    for (const [index, item] of entries.entries()) {
      // client-go refuses two entries of one name, too: a context with this name could mean either entry.
      if (map.has(item.name)) {
        const position = at(offsetOf(document, [field, index, 'name']));
        faults.push({ ...position, path: `${field}[${index}].name`, message: `two ${field} have this name` });
      }
      map.set(item.name, item);
    }
    return map;
  };
  const clusters = byName('clusters', parsed.data.clusters);
  const users = byName('users', parsed.data.users);
  if (faults.length > 0) throw new ConfigurationError(faults.slice(0, maxFaults));
  return { clusters, users, contexts: parsed.data.contexts, currentContext: parsed.data['current-context'] };
}

/** @throws ConfigurationError for a YamlFault */
function attempt<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new ConfigurationError([{ file, line: error.line, column: error.column, message: error.message }]);
  }
}

function issueMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') {
    const expected = {
      object: 'a mapping',
      record: 'a mapping',
      array: 'a list',
      string: 'text',
      boolean: 'true or false',
    };
    return `must be ${(expected as Record<string, string>)[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === 'invalid_value') return `must be ${issue.values.filter((value) => value !== '').join(' or ')}`;
  return issue.message;
}

function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

/**
 * The offset in the file where the value at `path` starts. When the value is missing, the start of the nearest
 * enclosing value.
 */
function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true) as
      | { readonly range?: readonly number[] | null }
      | undefined;
    if (node?.range && !isAlias(node)) return node.range[0] ?? 0;
  }
  return 0;
}
