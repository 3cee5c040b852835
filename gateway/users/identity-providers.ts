// Starts the identity providers (OpenID Connect) and anonymous requests as the configuration says, and watches the
// authentication file for changes. A provider that cannot be reached does not keep the gateway from starting: the fault
// is reported, and the provider's keys are requested again later.
import { makeAnonymousAuthenticator } from '../../auth/callers/anonymous.ts';
import type { Authenticator } from '../../auth/callers/authenticate.ts';
import { readAuthenticationConfig } from '../../auth/jwt/authentication-config.ts';
import type { AnonymousConfig } from '../../auth/callers/anonymous.ts';
import { followIssuerKeys, issuerTiming } from '../../auth/jwt/issuer-keys.ts';
import { makeJwtAuthenticator } from '../../auth/jwt/jwt.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import type { Config } from '../../config/configuration.ts';
import type { Log } from '../../lib/log.ts';
import type { Reloading } from '../../config/reloading.ts';

/** Identity providers and anonymous requests, as authenticators. */
export interface IdentityProviders {
  /** Authenticates tokens of the identity providers; undefined without an authentication file. */
  readonly tokens: Authenticator | undefined;
  /**
   * Authenticates requests without a credential as anonymous, when no other authenticator knows the caller; undefined
   * when anonymous requests are off.
   */
  readonly anonymous: Authenticator | undefined;
  /** Texts about identity providers whose signing keys could not be fetched, one for each. */
  faults(): readonly string[];
  close(): void;
}

const nobody: AnonymousConfig = { enabled: false, paths: [] };

/**
 * Reads the authentication file and begins to fetch the signing keys of its identity providers, without waiting for
 * them.
 * @throws ConfigurationError (rejects) when the file cannot be read or is not valid
 */
export async function startIdentityProviders(
  config: Pick<Config, 'authentication' | 'outgoing' | 'timeScale'>,
  reloading: Reloading,
  log: Log,
): Promise<IdentityProviders> {
  const { configFile, anonymousAuth } = config.authentication;
  let anonymous: AnonymousConfig = anonymousAuth === true ? { enabled: true, paths: [] } : nobody;
  if (configFile === undefined) {
    return {
      tokens: undefined,
      anonymous: anonymous.enabled ? makeAnonymousAuthenticator(() => anonymous) : undefined,
      faults: () => [],
      close: () => undefined,
    };
  }
  const providers = makeJwtAuthenticator({
    forwardSystemMasters: config.outgoing.forwardSystemMasters,
    forwardReserved: config.outgoing.forwardReserved,
    follow: (issuer) =>
      followIssuerKeys(issuer, {
        timing: issuerTiming(config.timeScale),
        onFault(fault) {
          if (fault === undefined)
            log.info({ issuer: issuer.url }, 'the signing keys of the identity provider were fetched');
          else log.warn({ issuer: issuer.url, fault }, 'the signing keys of the identity provider cannot be fetched');
        },
      }),
  });
  await reloading.add([configFile], (text = '') => {
    const read = readAuthenticationConfig(text, configFile);
    if (read.anonymous !== undefined && anonymousAuth !== undefined) {
      const message = 'not together with --anonymous-auth: say it in one place';
      throw new ConfigurationError([{ file: configFile, path: 'anonymous', message }]);
    }
    providers.replace(read.jwt);
    if (anonymousAuth === undefined) anonymous = read.anonymous ?? nobody;
  });
  return {
    tokens: providers.authenticate,
    anonymous: makeAnonymousAuthenticator(() => anonymous),
    faults: () => providers.faults(),
    close: () => providers.close(),
  };
}
