// Starts the authenticators and the authorizer of the configuration, and watches their files for changes. A changed
// file is applied completely or not at all.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { makeAuthenticator } from '../../auth/callers/authenticate.ts';
import type { Authenticator, RequestAuthenticator } from '../../auth/callers/authenticate.ts';
import { allowAuthenticated, makeRulesAuthorizer, unionAuthorizer } from '../../auth/rules/authorize.ts';
import type { Authorizer, RulesAuthorizer } from '../../auth/rules/authorize.ts';
import { makeClientCertificateAuthenticator } from '../../auth/callers/client-cert.ts';
import type { ClientCertificateAuthenticator } from '../../auth/callers/client-cert.ts';
import { parseRules } from '../../auth/rules/rules.ts';
import { makeStaticTokenAuthenticator, parseTokenFile } from '../../auth/callers/static-token.ts';
import type { StaticTokenAuthenticator } from '../../auth/callers/static-token.ts';
import { makeUser } from '../../model/user.ts';
import type { Config } from '../../config/configuration.ts';
import type { HubAccess } from '../hub/hub-access.ts';
import { startIdentityProviders } from './identity-providers.ts';
import type { Log } from '../../lib/log.ts';
import type { Reloading } from '../../config/reloading.ts';
import { writeWhole } from '../certificates/serving-certificate.ts';

/** The authenticators and the client CAs that the configuration asks for. */
export interface Users {
  readonly authenticate: RequestAuthenticator;
  /** The only token of `--identity=self`, and the file that holds it; undefined in other modes. */
  readonly selfToken: { readonly token: string; readonly file: string } | undefined;
  /**
   * PEM of all CAs whose client certificates are accepted. '' means that the TLS listener asks clients for a
   * certificate without naming a CA; undefined means that it asks for none.
   */
  clientCa(): string | undefined;
  /** Sets the listener that is called after a client CA was replaced. A second call replaces the first listener. */
  onClientCa(listener: () => void): void;
  /** Texts about identity providers whose signing keys cannot be fetched at present, one for each. */
  faults(): readonly string[];
  close(): void;
}

/**
 * Starts the authenticators. They are tried in kube-apiserver's order: front proxy, client certificates (the operator's
 * CA, then the hub's), tokens (the operator's file, then identity providers, then the hub's TokenReview), anonymous.
 * The first one that recognises the credential decides, so the operator's files have precedence over the hub.
 */
export async function startUsers(
  config: Config,
  reloading: Reloading,
  log: Log,
  hub?: Pick<HubAccess, 'trust' | 'tokens'>,
): Promise<Users> {
  if (config.identity === 'self') return selfUser(config);
  const list: Authenticator[] = [];
  if (hub !== undefined) list.push(hub.trust.frontProxy);
  let ca: string | undefined;
  let changed: (() => void) | undefined;
  const { clientCaFile, tokenAuthFile } = config;
  if (clientCaFile !== undefined) {
    let certificates: ClientCertificateAuthenticator | undefined;
    await reloading.add([clientCaFile], (text = '') => {
      if (certificates === undefined)
        certificates = makeClientCertificateAuthenticator({ caPem: text, caFile: clientCaFile });
      else certificates.replaceCa(text);
      ca = text;
      changed?.();
    });
    list.push((request) => certificates!.authenticate(request));
  }
  if (hub !== undefined) {
    list.push(hub.trust.clientCertificates);
    hub.trust.onClientCas(() => changed?.());
  }
  if (tokenAuthFile !== undefined) {
    let tokens: StaticTokenAuthenticator | undefined;
    await reloading.add([tokenAuthFile], (text = '') => {
      const { entries, warnings } = parseTokenFile(text, tokenAuthFile);
      for (const warning of warnings) log.warn({ file: tokenAuthFile, warning }, 'token file');
      if (tokens === undefined) tokens = makeStaticTokenAuthenticator(entries);
      else tokens.replace(entries);
    });
    list.push((request) => tokens!.authenticate(request));
  }
  const providers = await startIdentityProviders(config, reloading, log);
  if (providers.tokens !== undefined) list.push(providers.tokens);
  if (hub !== undefined) list.push(hub.tokens.authenticate);
  return {
    authenticate: makeAuthenticator(list, providers.anonymous, config.hub?.origins),
    selfToken: undefined,
    clientCa: () => (hub === undefined ? ca : [ca ?? '', hub.trust.clientCas()].filter((pem) => pem !== '').join('\n')),
    onClientCa: (listener) => (changed = listener),
    faults: () => providers.faults(),
    close: () => providers.close(),
  };
}

/**
 * The single user of `--identity=self`. Its token is made once and kept in the data directory, so that kubeconfigs stay
 * valid after a restart.
 */
function selfUser(config: Config): Users {
  const file = join(config.dataDir, 'self.token');
  let token = '';
  try {
    token = readFileSync(file, 'utf8').trim();
  } catch {
    // There is no token file yet. The token is made below.
  }
  if (!/^[A-Za-z0-9_-]{43}$/.test(token)) {
    token = randomBytes(32).toString('base64url');
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
    writeWhole(file, `${token}\n`, 0o600);
  }
  const { authenticate } = makeStaticTokenAuthenticator([{ token, user: makeUser({ name: ownerName() }) }]);
  return {
    authenticate: makeAuthenticator([authenticate]),
    selfToken: { token, file },
    clientCa: () => undefined,
    onClientCa: () => undefined,
    faults: () => [],
    close: () => undefined,
  };
}

/**
 * Starts the authorizer: first the rules file, which is watched for changes, then the hub. A request is allowed when
 * the rules or the hub allow it. Without a rules file and a hub, every authenticated user may use every cluster.
 */
export async function startAuthorizer(
  { authorizationRules: file, identity }: Pick<Config, 'authorizationRules' | 'identity'>,
  reloading: Reloading,
  hub?: Pick<HubAccess, 'authorizer'>,
): Promise<Authorizer> {
  const authorizers: Authorizer[] = [];
  if (file !== undefined) {
    let rules: RulesAuthorizer | undefined;
    await reloading.add([file], (text = '') => {
      const parsed = parseRules(text, file);
      if (rules === undefined) rules = makeRulesAuthorizer(parsed);
      else rules.replace(parsed);
    });
    authorizers.push(rules!);
  }
  if (hub !== undefined) authorizers.push(hub.authorizer);
  return authorizers.length === 0 ? allowAuthenticated(identity === 'self') : unionAuthorizer(authorizers);
}

/**
 * Name of the user of the operating system as whom this process runs. In a container this user may have no entry in the
 * user database; then `self` is returned.
 */
function ownerName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'self';
  }
}
