// A client's request as it is forwarded to a member. Its headers are built when they are first read. If the client
// sends the same header list repeatedly, they are taken from a cached text instead. The text contains an identity and a
// credential, so it is used again only for the very same objects (header list, user, credential). The text is made only
// from lists that `headersOf` has built.
import type { Credential } from '../../model/records.ts';
import { isRepeated, readOnce } from '../../http/repeated-headers.ts';
import type { User } from '../../model/user.ts';
import { selfUpstreamHeaders, upstreamHeaders } from '../forward/headers.ts';
import type { HeaderParts } from '../forward/headers.ts';
import { headerText } from '../http1/request-head.ts';
import type { HeadText, UpstreamRequest } from '../call/transport-types.ts';

/**
 * As whom a request is sent: the user to impersonate, or 'self' for the gateway's credential without impersonation.
 * With `--identity=self` that is the credential of the person's own kubeconfig.
 */
export type OutgoingIdentity = User | 'self';

/** A cached header text, and everything that it was made from. */
interface Kept {
  host: string;
  peerAddress: string;
  credential: Credential;
  identity: OutgoingIdentity;
  text: HeadText;
}

/**
 * The cached text for each header list that clients send repeatedly. Most connections send requests of one user to one
 * cluster. The cache saves 1.0 of 1.2 microseconds per request.
 */
const keptFor = readOnce((): { kept: Kept | undefined } => ({ kept: undefined }));

/** A request to forward, without its body. */
export class MemberRequest implements UpstreamRequest {
  readonly method: string;
  readonly target: string;
  readonly body: UpstreamRequest['body'];
  readonly longRunning: boolean;
  readonly auditId: string;
  readonly headText: HeadText | undefined;
  readonly #parts: HeaderParts;
  readonly #identity: OutgoingIdentity;
  #headers: readonly string[] | undefined;

  /**
   * Prepares a request that is sent as `identity`.
   * @throws GatewayError IDENTITY_REFUSED when the user is not valid (rule "no identity, no bytes" in docs/rules.md)
   */
  constructor(
    { method, target, body, longRunning }: Pick<UpstreamRequest, 'method' | 'target' | 'body' | 'longRunning'>,
    parts: HeaderParts,
    identity: OutgoingIdentity,
  ) {
    this.method = method;
    this.target = target;
    this.body = body;
    this.longRunning = longRunning;
    this.auditId = parts.auditId;
    this.#parts = parts;
    this.#identity = identity;
    // The headers or the text are built now and not when they are first read, so that an invalid user is refused before
    // a connection is used.
    if (parts.upgrade || !isRepeated(parts.inbound)) this.#headers = headersOf(parts, identity);
    else this.headText = keptText(parts, identity);
  }

  get headers(): readonly string[] {
    this.#headers ??= headersOf(this.#parts, this.#identity);
    return this.#headers;
  }
}

/**
 * Builds the header list of a request that is sent as `identity`. Only this function decides between impersonation and
 * 'self'.
 * @throws GatewayError IDENTITY_REFUSED when the user is not valid (rule "no identity, no bytes" in docs/rules.md)
 */
export function headersOf(parts: HeaderParts, identity: OutgoingIdentity): string[] {
  return identity === 'self' ? selfUpstreamHeaders(parts) : upstreamHeaders(parts, identity);
}

function keptText(parts: HeaderParts, identity: OutgoingIdentity): HeadText {
  const slot = keptFor(parts.inbound);
  const { host, peerAddress, credential } = parts;
  const { kept } = slot;
  if (
    kept !== undefined &&
    kept.identity === identity &&
    kept.credential === credential &&
    kept.host === host &&
    kept.peerAddress === peerAddress
  ) {
    return kept.text;
  }
  const text = headerText(headersOf(parts, identity));
  slot.kept = { host, peerAddress, credential, identity, text };
  return text;
}
