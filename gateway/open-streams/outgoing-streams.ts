// Ends streams whose outgoing identity the rules no longer give: a watch that lives for days would otherwise keep the
// identity of a rule that was removed. The identity is made anew and compared, and only streams for which it differs
// are cut.
import { isSameIdentity } from '../../auth/callers/identity-key.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterSpec } from '../../cache/model/records.ts';
import type { ClusterStore } from '../../cache/model/store.ts';
import type { User } from '../../cache/model/user.ts';
import type { OutgoingIdentities } from '../start/outgoing.ts';

/** One exchange that may last. */
export interface OutgoingStream {
  readonly user: User;
  /** The registration it was sent to. */
  readonly cluster: ClusterSpec;
  /** The identity that the member was sent. */
  readonly outgoing: User;
  /** Ends it, visibly cut for the client. */
  end(reason: GatewayError): void;
}

/** The streams that are followed. */
export interface OutgoingStreams {
  follow(stream: OutgoingStream): void;
  forget(stream: OutgoingStream): void;
  close(): void;
}

/** Follows the rules file and the annotations of clusters. */
export function startOutgoingStreams(
  identities: Pick<OutgoingIdentities, 'identity' | 'onChange'>,
  store: Pick<ClusterStore, 'getByUid' | 'subscribe'>,
): OutgoingStreams {
  const streams = new Set<OutgoingStream>();
  const review = (stream: OutgoingStream): void => {
    // A registration that is gone ends its streams itself.
    const spec = store.getByUid(stream.cluster.uid)?.spec;
    if (spec === undefined) return;
    try {
      if (isSameIdentity(identities.identity(stream.user, spec), stream.outgoing)) return;
      stream.end(new GatewayError('IDENTITY_REFUSED', 'the identity rules have changed for this user; connect again'));
    } catch (error) {
      stream.end(
        error instanceof GatewayError ? error : new GatewayError('INTERNAL', 'no identity is known', { cause: error }),
      );
    }
  };
  identities.onChange(() => {
    for (const stream of streams) review(stream);
  });
  const unsubscribe = store.subscribe(({ type, record: { spec } }) => {
    if (type !== 'MODIFIED') return;
    for (const stream of streams) {
      if (stream.cluster.uid === spec.uid && stream.cluster.identityExchange !== spec.identityExchange) review(stream);
    }
  });
  return {
    follow: (stream) => void streams.add(stream),
    forget: (stream) => void streams.delete(stream),
    close() {
      unsubscribe();
      streams.clear();
    },
  };
}
