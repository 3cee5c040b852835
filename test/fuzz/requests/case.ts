// What one case of the request fuzzer sends: the bytes of a connection over HTTP/1.1, or what is done on a connection
// over HTTP/2. Cases are kept as lines of JSON in corpus/requests.jsonl.

/** Bytes as latin1. */
export interface Http1Case {
  readonly protocol: '1';
  readonly bytes: string;
  /** In how many writes the bytes go, each in a TLS record of its own. */
  readonly pieces: number;
}

/** One field of a header block. */
export interface SentField {
  readonly name: string;
  readonly value: string;
  /** How HPACK writes it, see hpack.ts. */
  readonly how: number;
}

/** What is done on a stream, or a frame as it is. */
export type Http2Step =
  | {
      readonly kind: 'headers';
      readonly stream: number;
      readonly fields: readonly SentField[];
      readonly ends: boolean;
      /** Bytes in each frame of the block; 0 puts all of it into one. */
      readonly frameBytes: number;
    }
  | {
      readonly kind: 'data';
      readonly stream: number;
      readonly text: string;
      readonly ends: boolean;
      readonly padding: number;
    }
  | {
      readonly kind: 'frame';
      readonly type: number;
      readonly flags: number;
      readonly stream: number;
      readonly payload: string;
    };

export interface Http2Case {
  readonly protocol: '2';
  readonly steps: readonly Http2Step[];
}

export type RequestCase = Http1Case | Http2Case;

/** Users of the gateway under test; the token of each is its name and `-token`. */
export const users = [
  { token: 'alice-token', name: 'alice', groups: ['dev'] },
  { token: 'bob-token', name: 'bob', uid: 'uid-of-bob' },
  { token: 'root-token', name: 'root', groups: ['system:masters'] },
  { token: 'jorg-token', name: 'jörg', uid: '7', groups: ['dev', 'größe'] },
] as const;

/** Asks behind every case, over a connection of its own, whether all is well. */
export const witness = { token: 'witness-token', name: 'witness' } as const;

/** It asks each cluster once. */
export const witnessRequests = 2;

/** Name of the user whom a token stands for, as bytes of latin1. */
export function nameOfToken(token: string): string | undefined {
  const user = users.find((one) => one.token === token);
  return user === undefined ? undefined : Buffer.from(user.name).toString('latin1');
}

/**
 * What the client sent in one request, as far as identity goes: whom a member must see, or undefined where that cannot
 * be said.
 */
export function intendedUser(headers: readonly string[]): string | undefined {
  const values = (name: string): string[] =>
    headers.filter((_, i) => i % 2 === 1 && headers[i - 1]!.toLowerCase() === name);
  const impersonated = values('impersonate-user');
  if (impersonated.length > 0) return impersonated[0];
  const [authorization] = values('authorization');
  // As in kube-apiserver, what follows the token is not looked at.
  const bearer = /^bearer +(\S+)/i.exec(authorization?.trim() ?? '')?.[1];
  if (bearer !== undefined) return nameOfToken(bearer);
  // As in kube-apiserver, a token among the subprotocols counts when `Connection` holds the letters of `upgrade`.
  const item = values('sec-websocket-protocol')
    .flatMap((value) => value.split(','))
    .map((one) => one.trim())
    .find((one) => one.startsWith(bearerSubprotocol));
  return item === undefined
    ? undefined
    : nameOfToken(Buffer.from(item.slice(bearerSubprotocol.length), 'base64url').toString('latin1'));
}

const bearerSubprotocol = 'base64url.bearer.authorization.k8s.io.';
