// Ends streams early and tells the client why where the protocol can. An exchange without a stream (the member has not
// answered) can only be cut. A registration that is removed or closed ends its streams: otherwise they would outlive
// every right.
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterStore } from '../../cache/model/store.ts';
import type { Inbound } from '../../http/inbound.ts';
import type { OpenStream, OpenStreams } from '../../routing/forward/open-streams.ts';
import type { Connections } from '../../routing/members/target.ts';
import { statusObject } from '../status.ts';

/** @param open the stream, or the exchange where there is none yet */
export function endStream(open: OpenStream | Inbound, reason: GatewayError): void {
  if ('kind' in open) open.end(reason, JSON.stringify(statusObject(reason)));
  else open.abort();
}

/**
 * Ends the streams of a registration that is removed, and of one that lost its credential or may not be used any more.
 * A credential that is replaced by another ends nothing: clients must not notice a rotation.
 */
export function followRegistrations(
  store: Pick<ClusterStore, 'subscribe'>,
  openStreams: OpenStreams,
  connections: Pick<Connections, 'drop'>,
): void {
  const endAll = (uid: string, reason: GatewayError): void => {
    for (const stream of openStreams) if (stream.clusterUid === uid) endStream(stream, reason);
  };
  store.subscribe(({ type, record: { spec }, previous }) => {
    const { name, uid, problem } = spec;
    if (type === 'DELETED') {
      endAll(uid, new GatewayError('CLUSTER_NOT_FOUND', `cluster "${name}" was removed`, { cluster: name }));
      connections.drop(uid);
      return;
    }
    const usable = problem === undefined && spec.credential !== undefined;
    if (usable || previous === undefined || previous.spec === spec) return;
    const why = problem === undefined ? 'it has no credential' : `${problem.reason}: ${problem.message}`;
    endAll(
      uid,
      new GatewayError('CLUSTER_UNUSABLE', `cluster "${name}" can no longer be used (${why})`, { cluster: name }),
    );
  });
}
