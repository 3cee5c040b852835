// The authenticators and the authorizer a configuration asks for, followed for change. Easy to get wrong: every file is applied whole or not
// at all, and the order of authenticators is kube-apiserver's: client certificates, then tokens.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { makeAuthenticator } from '../auth/authenticate.ts';
import type { Authenticator, RequestAuthenticator } from '../auth/authenticate.ts';
import { allowAuthenticated, makeRulesAuthorizer } from '../auth/authorize.ts';
import type { Authorizer, RulesAuthorizer } from '../auth/authorize.ts';
import { makeClientCertificateAuthenticator } from '../auth/client-cert.ts';
import type { ClientCertificateAuthenticator } from '../auth/client-cert.ts';
import { parseRules } from '../auth/rules.ts';
import { makeStaticTokenAuthenticator, parseTokenFile } from '../auth/static-token.ts';
import type { StaticTokenAuthenticator } from '../auth/static-token.ts';
import { makeUser } from '../cache/user.ts';
import type { Config } from './config.ts';
import type { Log } from './log.ts';
import type { Reloading } from './reloading.ts';
import { writeWhole } from './serving-certificate.ts';

/** Who may log in, as the chain asks it. */
export interface Users {
  readonly authenticate: RequestAuthenticator;
  /** The one token of `--identity=self`, and the file it is kept in. */
  readonly selfToken: { readonly token: string; readonly file: string } | undefined;
  /** PEM of the CA for client certificates now. */
  clientCa(): string | undefined;
  /** One listener, called after the CA was replaced. */
  onClientCa(listener: () => void): void;
}

/** The authenticators in kube-apiserver's order: client certificates, then tokens. */
export async function startUsers(config: Config, reloading: Reloading, log: Log): Promise<Users> {
  if (config.identity === 'self') return selfUser(config);
  const list: Authenticator[] = [];
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
  return {
    authenticate: makeAuthenticator(list),
    selfToken: undefined,
    clientCa: () => ca,
    onClientCa: (listener) => (changed = listener),
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
  };
}

/** The rules file, followed for change; without one every authenticated user may use every cluster. */
export async function startAuthorizer({ authorizationRules: file }: Config, reloading: Reloading): Promise<Authorizer> {
  if (file === undefined) return allowAuthenticated();
  let rules: RulesAuthorizer | undefined;
  await reloading.add([file], (text = '') => {
    const parsed = parseRules(text, file);
    if (rules === undefined) rules = makeRulesAuthorizer(parsed);
    else rules.replace(parsed);
  });
  return rules!;
}

/** The person at this machine; a container's user may have no entry in its user database. */
function ownerName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'self';
  }
}
