// TLS sessions of clients with certificates, for tests that resume them. A server may refuse to resume and want a whole
// handshake, which is as good as a refusal and must not be taken for one that was let in.
import { once } from 'node:events';
import { openRaw } from './raw-client.ts';
import type { Endpoint, RawAnswer } from './raw-client.ts';

/** A client certificate and its key, PEM. */
export interface Shown {
  readonly cert: string;
  readonly key: string;
}

export const tlsVersions = ['TLSv1.2', 'TLSv1.3'] as const;
/** What a connection can be resumed with. */
export type Ticket = { readonly version: (typeof tlsVersions)[number]; readonly session: Buffer };

/** A session ticket that was given out on a connection with this certificate, on which `bytes` was answered 200. */
export async function ticket(
  endpoint: Endpoint,
  shown: Shown,
  version: Ticket['version'],
  bytes: string,
): Promise<Ticket> {
  const client = await openRaw(endpoint, { ...shown, maxVersion: version });
  const given = once(client.socket, 'session') as Promise<[Buffer]>;
  client.send(bytes);
  const { status } = await client.answer();
  if (status !== 200) throw new Error(`answered ${status}`);
  const session = version === 'TLSv1.3' ? (await given)[0] : client.socket.getSession()!;
  client.close();
  return { version, session };
}

/** Sends a request on a resumed session; null when the server wanted a whole handshake. */
export async function resumed(
  endpoint: Endpoint,
  { version, session }: Ticket,
  shown: Shown,
  bytes: string,
): Promise<RawAnswer | null> {
  const client = await openRaw(endpoint, { session, maxVersion: version, ...shown });
  try {
    if (!client.socket.isSessionReused()) return null;
    client.send(bytes);
    return await client.answer();
  } finally {
    client.close();
  }
}
