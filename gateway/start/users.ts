// The authenticators and the authorizer that a configuration asks for, followed for change. Every file is applied whole
// or not at all. The order of authenticators is kube-apiserver's: front proxy, client certificates, tokens.
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
import { makeUser } from '../../cache/model/user.ts';
import type { Config } from '../config/configuration.ts';
import type { HubAccess } from '../hub/hub-access.ts';
import { startIdentityProviders } from './identity-providers.ts';
import type { Log } from '../operations/log.ts';
import type { Reloading } from './reloading.ts';
import { writeWhole } from '../certificates/serving-certificate.ts';

/** The authenticators and the client CA that the configuration asks for. */
export interface Users {
  readonly authenticate: RequestAuthenticator;
  /** The one token of `--identity=self`, and the file it is kept in. */
  readonly selfToken: { readonly token: string; readonly file: string } | undefined;
  /** PEM of every CA whose certificates clients are asked for; '' asks without naming one, undefined does not ask. */
  clientCa(): string | undefined;
  /** One listener, called after one was replaced. */
  onClientCa(listener: () => void): void;
  /** Identity providers whose keys cannot be had now. */
  faults(): readonly string[];
  close(): void;
}

/**
 * The authenticators in kube-apiserver's order: front proxy, client certificates (the operator's authority, then the
 * hub's), tokens (the operator's file, then identity providers, then the hub's review), anonymous. For a caller known
 * to both, the operator's settings count.
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

/** `--identity=self`: one token, made once and kept in the data directory so that kubeconfigs outlive a restart. */
function selfUser(config: Config): Users {
  const file = join(config.dataDir, 'self.token');
  let token = '';
  try {
    token = readFileSync(file, 'utf8').trim();
  } catch {
    // Made below.
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
 * Who decides: the rules file, followed for change, then the hub; the first that allows does. With neither, every
 * authenticated user may use every cluster.
 */
export async function startAuthorizer(
  { authorizationRules: file }: Pick<Config, 'authorizationRules'>,
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
  return authorizers.length === 0 ? allowAuthenticated() : unionAuthorizer(authorizers);
}

/** The person at this machine; a container's user may have no entry in its user database. */
function ownerName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'self';
  }
}
