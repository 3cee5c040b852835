// A request for a member whose headers are made when they are read, or, where a client repeats all of its own, kept as
// the text of a head. The text holds an identity and a credential: it is used again only for exactly the same objects
// (list, user, credential) it was made of, and `upstreamHeaders` is the only maker of its list.
import type { Credential } from '../../cache/model/records.ts';
import { isRepeated, readOnce } from '../../http/repeated-headers.ts';
import type { User } from '../../cache/model/user.ts';
import { selfUpstreamHeaders, upstreamHeaders } from '../forward/headers.ts';
import type { HeaderParts } from '../forward/headers.ts';
import { headerText } from '../http1/request-head.ts';
import type { HeadText, UpstreamRequest } from './transport-types.ts';

/**
 * As whom a request goes out: impersonated, or with the credential of the person's own kubeconfig (`--identity=self`).
 */
export type OutgoingIdentity = User | 'self';

/** What a text was made of. */
interface Kept {
  host: string;
  peerAddress: string;
  credential: Credential;
  identity: OutgoingIdentity;
  text: HeadText;
}

/**
 * The text kept with each list that repeats: a connection asks mostly as one user of one cluster. Saves 1.0 us of 1.2.
 */
const keptFor = readOnce((): { kept: Kept | undefined } => ({ kept: undefined }));

/** See the file comment. */
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

  /** @throws GatewayError IDENTITY_REFUSED when the user is not one (rule "no identity, no bytes") */
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
    // One of the two at once: whoever may not be sent is refused here, before anything is asked of the member's
    // connections.
    if (parts.upgrade || !isRepeated(parts.inbound)) this.#headers = headersOf(parts, identity);
    else this.headText = keptText(parts, identity);
  }

  get headers(): readonly string[] {
    this.#headers ??= headersOf(this.#parts, this.#identity);
    return this.#headers;
  }
}

/**
 * The header list of a request that goes out as `identity`: the one place that chooses between the two.
 * @throws GatewayError IDENTITY_REFUSED when the user is not one (rule "no identity, no bytes")
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
