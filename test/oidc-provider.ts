// A real OpenID provider (npm's oidc-provider) over TLS, and a minimal browser that can log in with it. The provider
// cannot change its keys. So to rotate keys, `useKeys` puts a new provider behind the same address.
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { TestAuthority } from './pretend/certificates.ts';
import type { IssuerKey } from './issuer.ts';
import { newServer } from './pretend/server.ts';

/** Claims of whoever logs in, by the name they log in as. */
export type Accounts = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface OidcProvider {
  readonly url: string;
  readonly port: number;
  readonly ca: string;
  /** Requests for the JWKS so far. */
  jwksRequests(): number;
  /** From now on signs with the first of these keys and publishes all. */
  useKeys(keys: readonly IssuerKey[]): void;
  /** Logs in by the authorization code flow with PKCE; the ID token. */
  login(account: string, clientId?: string): Promise<string>;
  close(): Promise<void>;
}

export interface OidcProviderOptions {
  readonly authority: TestAuthority;
  readonly keys: readonly IssuerKey[];
  readonly accounts: Accounts;
  readonly clientIds: readonly string[];
  /** Where clients may be sent back to; the first is the browser's of {@link OidcProvider.login}. */
  readonly redirectUris: readonly string[];
  readonly port?: number;
  /** Seconds until an ID token expires. With it refresh tokens are issued, too. Default: an hour, without them. */
  readonly idTokenSeconds?: number;
}

interface Interaction {
  readonly params: { readonly login_hint?: string };
}
/** What is used of the library, which brings no types. */
interface Library {
  callback(): RequestListener;
  interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  readonly Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<string> };
}
type LibraryClass = new (issuer: string, configuration: object) => Library;

const scopes = 'openid profile';

/** Starts one. */
export async function startOidcProvider(options: OidcProviderOptions): Promise<OidcProvider> {
  // oxlint-disable-next-line typescript/no-unsafe-assignment
  const { Provider } = (await import('oidc-provider' as string)) as { readonly Provider: LibraryClass };
  const certificate = await options.authority.issue(['ip:127.0.0.1', 'localhost']);
  let library: Library | undefined;
  let jwksRequests = 0;
  const { url, port, close } = await newServer(
    (request, response) => {
      if (request.url === '/jwks') jwksRequests += 1;
      if (request.url?.startsWith('/interaction/') === true) void answerInteraction(library!, request, response);
      else library!.callback()(request, response);
    },
    certificate,
    options.port,
  );
  const useKeys = (keys: readonly IssuerKey[]): void => {
    library = new Provider(
      url,
      configurationOf(options, keys, () => library!),
    );
  };
  useKeys(options.keys);
  return {
    url,
    port,
    ca: options.authority.ca,
    jwksRequests: () => jwksRequests,
    useKeys,
    login: (account, clientId = options.clientIds[0]!) => login(url, options, account, clientId),
    close,
  };
}

function configurationOf(options: OidcProviderOptions, keys: readonly IssuerKey[], library: () => Library): object {
  return {
    jwks: {
      keys: keys.map(({ privateKey, kid, alg }) => ({ ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' })),
    },
    clients: options.clientIds.map((id) => ({
      client_id: id,
      // A page has an https address, a program of a person's machine an http one.
      application_type: options.redirectUris.some((uri) => uri.startsWith('https:')) ? 'web' : 'native',
      token_endpoint_auth_method: 'none',
      redirect_uris: options.redirectUris,
      response_types: ['code'],
      grant_types: ['authorization_code', ...(options.idTokenSeconds === undefined ? [] : ['refresh_token'])],
    })),
    ...(options.idTokenSeconds !== undefined && {
      ttl: { IdToken: options.idTokenSeconds },
      issueRefreshToken: () => Promise.resolve(true),
    }),
    claims: {
      openid: ['sub'],
      profile: [...new Set(Object.values(options.accounts).flatMap((claims) => Object.keys(claims)))],
    },
    conformIdTokenClaims: false,
    cookies: { keys: ['a key for the cookies of a test'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, ...options.accounts[id] }) }),
    // Pages of other origins may use the token endpoint, as a provider allows its public clients.
    clientBasedCORS: () => true,
    // Nobody is asked for consent.
    async loadExistingGrant({ oidc }: { oidc: { client: { clientId: string }; session: { accountId: string } } }) {
      const grant = new (library().Grant)({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope(scopes);
      await grant.save();
      return grant;
    },
  };
}

/** Logs in whoever the client hints at. */
async function answerInteraction(library: Library, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { params } = await library.interactionDetails(request, response);
  // A native client asks for consent each time, given or not.
  await library.interactionFinished(request, response, {
    login: { accountId: params.login_hint ?? 'nobody' },
    consent: {},
  });
}

/**
 * Follows redirects from an address, with cookies, until one leads to `end`, or there is none.
 * @returns where it ended
 */
export async function browse(start: string, ca: string, end?: string): Promise<string> {
  const cookies = new Map<string, string>();
  let at = start;
  for (let hops = 0; hops < 20; hops++) {
    if (end !== undefined && at.startsWith(end)) return at;
    const { location, set } = await visit(at, ca, [...cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    for (const line of set) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name !== undefined && value === '') cookies.delete(name);
      else if (name !== undefined) cookies.set(name, value ?? '');
    }
    if (location === undefined) return at;
    at = new URL(location, at).href;
  }
  throw new Error('the log-in went round in circles');
}

function visit(
  at: string,
  ca: string,
  cookie: string,
): Promise<{ location: string | undefined; set: readonly string[] }> {
  return new Promise((resolve, reject) => {
    const isTls = at.startsWith('https:');
    const send = isTls ? httpsRequest : httpRequest;
    const asked = send(
      at,
      { ...(isTls ? { ca } : {}), agent: false, headers: cookie === '' ? {} : { cookie } },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => (body += text));
        response.on('end', () => {
          const { location, 'set-cookie': set = [] } = response.headers;
          if ((response.statusCode ?? 500) >= 400) reject(new Error(`${at} answered ${response.statusCode}: ${body}`));
          else resolve({ location, set });
        });
      },
    );
    asked.on('error', reject);
    asked.end();
  });
}

async function login(url: string, options: OidcProviderOptions, account: string, clientId: string): Promise<string> {
  const { authority, redirectUris } = options;
  const verifier = randomBytes(32).toString('base64url');
  const redirect = redirectUris[0]!;
  const query = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirect,
    scope: scopes,
    login_hint: account,
    code_challenge_method: 'S256',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  });
  const ended = await browse(`${url}/auth?${query.toString()}`, authority.ca, redirect);
  const code = new URL(ended).searchParams.get('code');
  if (code === null) throw new Error(`no code: ${ended}`);
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    redirect_uri: redirect,
    code_verifier: verifier,
  });
  return await new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const asked = httpsRequest(
      `${url}/token`,
      { method: 'POST', ca: authority.ca, agent: false, headers },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => (body += text));
        response.on('end', () => {
          const { id_token: token } = JSON.parse(body) as { id_token?: string };
          if (token === undefined) reject(new Error(`no token: ${body}`));
          else resolve(token);
        });
      },
    );
    asked.on('error', reject);
    asked.end(form.toString());
  });
}
