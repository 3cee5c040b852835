// Ends streams when a change of the identity rules gives their user another identity in the cluster. Otherwise a watch
// that lives for days would keep the identity of a rule that was removed. When the rules change, the identity of each
// stream is computed again, and only the streams whose identity differs are ended.
import { isSameIdentity } from '../../auth/callers/identity-key.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterStore } from '../../model/store.ts';
import type { OutgoingStream } from '../../api/fanout/members/dependencies.ts';
import type { OutgoingIdentities } from '../users/outgoing.ts';

/** The open streams whose identity is checked when rules change. `follow` adds a stream, `forget` removes it. */
export interface OutgoingStreams {
  follow(stream: OutgoingStream): void;
  forget(stream: OutgoingStream): void;
  close(): void;
}

/**
 * Watches the identity rules and the annotations of clusters. When they change, the streams are ended that would now
 * get another identity.
 */
export function startOutgoingStreams(
  identities: Pick<OutgoingIdentities, 'identity' | 'onChange'>,
  store: Pick<ClusterStore, 'getByUid' | 'subscribe'>,
): OutgoingStreams {
  const streams = new Set<OutgoingStream>();
  const review = (stream: OutgoingStream): void => {
    // The cluster has been removed; followRegistrations in ended-streams.ts ends its streams.
    const spec = store.getByUid(stream.cluster.uid)?.spec;
    if (spec === undefined) return;
    try {
      if (isSameIdentity(identities.identity(stream.user, spec), stream.outgoing)) return;
      stream.end(new GatewayError('IDENTITY_REFUSED', 'the identity rules have changed for this user; connect again'));
    } catch (error) {
      stream.end(
        error instanceof GatewayError
          ? error
          : new GatewayError(
              'INTERNAL',
              'the gateway failed to find out which user the cluster must see for this stream; connect again',
              { cause: error },
            ),
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
