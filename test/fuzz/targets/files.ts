// Readers of files: kubeconfigs, token files, rules, identity exchange, the configuration file. A message about a fault
// must not hold what the file says, so every input carries a secret and no message may show it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { readAuthenticationConfig } from '../../../auth/jwt/authentication-config.ts';
import { readCsv } from '../../../lib/text/csv.ts';
import { parseIdentityRules } from '../../../auth/outgoing/identity-rules.ts';
import { parseRules } from '../../../auth/rules/rules.ts';
import { parseTokenFile } from '../../../auth/callers/static-token.ts';
import { ConfigurationError } from '../../../lib/configuration-error.ts';
import { GatewayError } from '../../../model/errors.ts';
import { draftClusters } from '../../../cache/sources/kubeconfig/kubeconfig-cluster.ts';
import { parseKubeconfig } from '../../../cache/sources/kubeconfig/kubeconfig-file.ts';
import { readAuditPolicy } from '../../../gateway/audit/policy.ts';
import { readConfig } from '../../../config/config.ts';
import { mutatedTexts } from '../mutations.ts';
import { must, refusalOf } from '../target.ts';
import type { FuzzTarget } from '../target.ts';

/** Stands where secrets stand in the corpus. */
const secret = 'SECRETSECRET';

const isOwn = (error: unknown): boolean => error instanceof ConfigurationError || error instanceof GatewayError;

const yamlWords = [
  '\n',
  '  ',
  '\t',
  '- ',
  ': ',
  ':',
  '{',
  '}',
  '[',
  ']',
  '"',
  "'",
  '|',
  '>',
  '&a ',
  '*a',
  '<<: ',
  '!!binary ',
  '!!js/function ',
  '---\n',
  '#',
  '%YAML 9\n',
  '\0',
  '\ufeff',
  '~',
  'null',
  'true',
  '0x10',
  '1e999',
  '.nan',
  'é',
  '\ud800',
  'apiVersion: v1\n',
  'kind: Config\n',
  'name: ',
  'users:\n',
  'token: ',
  secret,
  '__proto__: ',
  'constructor: ',
  '? ',
  ',',
];

function yamlTarget(
  name: string,
  share: number,
  words: readonly string[],
  read: (text: string) => void,
): FuzzTarget<string> {
  return {
    name,
    share,
    slowMs: 400,
    arbitrary: (corpus) => mutatedTexts(corpus, [...yamlWords, ...words]),
    check(input) {
      const outcome = refusalOf(() => withoutNames(() => read(input)), isOwn);
      if ('refused' in outcome && !isNameToo(input))
        must(!outcome.refused.includes(secret), 'a message shows the secret');
      return undefined;
    },
  };
}

/** Whether the word for a secret has come to stand where names stand, which messages do tell. */
function isNameToo(input: string): boolean {
  return /(?:name|cluster|user|context|kind|group|server|[eE]xpression)s?["']?\s*:[^\n]*SECRETSECRET/.test(
    input.replaceAll(/(?:token|password)["']?: ?SECRETSECRET/g, ''),
  );
}

/** Without the names of fields, which are quoted on purpose, and the values of flags, which no secret is among. */
function withoutNames(read: () => void): void {
  try {
    read();
  } catch (error) {
    if (error instanceof GatewayError) {
      // A list of `file:line: path: reason`.
      const reasons = error.message.split('\n').map((line) => line.slice(line.lastIndexOf(': ') + 2));
      throw new ConfigurationError(reasons.map((message) => ({ file: 'f', message })));
    }
    if (!(error instanceof ConfigurationError)) throw error;
    const faults = error.faults.filter(
      ({ file, message }) => !file.startsWith('--') && !message.startsWith('Unrecognized key'),
    );
    throw new ConfigurationError(faults.map(({ message }) => ({ file: 'f', message })));
  }
}

const kubeconfig = yamlTarget(
  'kubeconfig',
  12_000,
  [
    'clusters:\n',
    'contexts:\n',
    'server: https://a',
    'server: https://u:p@a:99999/x?y',
    'insecure-skip-tls-verify: true',
    'certificate-authority-data: ',
    'proxy-url: http://',
    'proxy-url: socks5://u:p@b',
    'exec:\n',
    'command: ',
    'args: []',
    'env: []',
    'client-key-data: ',
    'tokenFile: ',
    'username: ',
    'password: ',
    'tls-server-name: ',
    'current-context: ',
  ],
  (text) => {
    const parsed = parseKubeconfig('/f/kubeconfig', text);
    const drafts = draftClusters('/f/kubeconfig', parsed, () => {
      throw new GatewayError('CLUSTER_UNUSABLE', 'no such file');
    });
    for (const { spec } of drafts) {
      // Of a name without any letter or digit only the digest is left.
      const asked = [spec.name, spec.digestName ?? ''].filter((name) => name !== '');
      const areLabels = asked.every((name) => /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(name));
      must((asked.length > 0 && areLabels) || spec.problem !== undefined, 'a cluster without a name');
      must(spec.problem !== undefined || spec.endpoint !== undefined, 'a cluster without an address');
      // A `token: SECRET` belongs into the credential; what is shown of a cluster must not hold it.
      must(isNameToo(text) || !(spec.problem?.message ?? '').includes(secret), 'a problem shows the secret');
    }
  },
);

const rules = yamlTarget(
  'rules',
  10_000,
  [
    'rules:\n',
    'subjects: ',
    'clusters: ',
    'verbs: ',
    'resources: ',
    'users: ',
    'groups: ',
    '"*"',
    'selector: ',
    'matchLabels: ',
    'namespaces: ',
  ],
  (text) => void parseRules(text, 'rules.yaml'),
);

const exchange = yamlTarget(
  'identity-exchange',
  6_000,
  [
    'spec:\n',
    'clientIdentityExchanger:\n',
    'rules:\n',
    'type: StaticMappingIdentityExchanger',
    'type: PrivilegedIdentityExchanger',
    'source: ',
    'target: ',
    'userPattern: ',
    'groupPattern: "(a|b)*"',
    '(?i)',
    '\\p{L}',
    '[[:alpha:]]',
    '(?P<n>a)',
    'a{1,1000}',
    '(((((',
    '+*?',
  ],
  (text) => {
    for (const allowPrivileged of [true, false])
      parseIdentityRules(text, 'exchange.yaml', {
        privilegedUser: allowPrivileged ? 'root' : undefined,
        usernameOnly: !allowPrivileged,
      });
  },
);

const configuration = yamlTarget(
  'configuration',
  6_000,
  [
    'listen: ',
    '127.0.0.1:8443',
    '[::]:0',
    'kubeconfig: ',
    'tokenAuthFile: ',
    'identity: self',
    'hubKubeconfig: ',
    'sources: ',
    'shutdownDelaySeconds: ',
    'clusterDomain: ',
    'proxyPort: ',
    'servingSecret: a/b',
    'authenticationTokenWebhookCacheTtl: ',
    '1h2m3s',
    '9999999999999h',
  ],
  (text) => {
    const folder = join(tmpdir(), `portcullis-fuzz-${process.pid}`);
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `config-${threadId}.yaml`);
    writeFileSync(file, text);
    readConfig({ config: file }, {}, false);
  },
);

const authentication = yamlTarget(
  'authentication-configuration',
  3_000,
  [
    'jwt:\n',
    'issuer: ',
    'url: "https://a"',
    'audiences: [a]',
    'audienceMatchPolicy: MatchAny',
    'claimMappings: ',
    'username: ',
    'claim: sub',
    'prefix: ""',
    'expression: ',
    'claims.sub',
    'claims["a"]',
    "'x' in claims.groups",
    'claims.email_verified',
    '?claims.sub',
    '.orValue("")',
    'has(claims.a)',
    'all(x, x)',
    '((((',
    'claimValidationRules: ',
    'userValidationRules: ',
    'user.username',
    'anonymous: ',
    'conditions: ',
  ],
  (text) => void readAuthenticationConfig(text, 'authn.yaml'),
);

const audit = yamlTarget(
  'audit-policy',
  3_000,
  [
    'rules:\n',
    'level: ',
    'None',
    'Metadata',
    'users: ',
    'userGroups: ',
    'verbs: ',
    'resources: ',
    'group: ',
    'nonResourceURLs: ',
    'omitStages: ',
    'RequestReceived',
    'namespaces: ',
    '"*"',
  ],
  (text) => void readAuditPolicy(text, 'policy.yaml'),
);

const tokens: FuzzTarget<string> = {
  name: 'token-file',
  share: 20_000,
  slowMs: 100,
  arbitrary: (corpus) =>
    mutatedTexts(corpus, [
      ',',
      '"',
      '""',
      '\n',
      '\r\n',
      '\r',
      ' ',
      '\t',
      '#',
      '\ufeff',
      '\0',
      secret,
      'alice',
      'uid',
      '"a,b"',
      'system:masters',
      'portcullis:probe',
      'é',
      '\ufffd',
      '\u2028',
    ]),
  check(input) {
    const { records, fault } = readCsv(input);
    let line = 0;
    for (const record of records) {
      must(record.line > line, 'lines do not rise');
      must(fault === undefined || record.line <= fault.line, 'a record behind the fault');
      line = record.line;
    }
    const read = refusalOf(() => parseTokenFile(input, 'tokens.csv'), isOwn);
    if ('refused' in read) {
      // Only tokens are secret: names are told.
      const isNamed = records.some(({ fields }) => fields.slice(1).some((field) => field.includes(secret)));
      must(isNamed || !read.refused.includes(secret), 'a message shows the secret');
    } else {
      must(
        read.value.warnings.every((text) => !text.includes(secret)),
        'a warning shows the secret',
      );
      const all = read.value.entries.map(({ token }) => token);
      must(new Set(all).size === all.length, 'one token is two users’');
      must(
        read.value.entries.every(({ user, token }) => user.name !== '' && token !== ''),
        'a user without a name or token',
      );
    }
    return undefined;
  },
};

/** All of them, for the list of targets. */
export const fileTargets: readonly FuzzTarget<string>[] = [
  kubeconfig,
  rules,
  exchange,
  configuration,
  authentication,
  audit,
  tokens,
];
