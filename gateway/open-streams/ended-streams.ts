// Ends open streams early and tells the client why, where the protocol has a way to tell it. When a cluster is removed
// or becomes unusable, its streams must end; otherwise they would go on although nobody checks their rights any more.
import { GatewayError } from '../../model/errors.ts';
import type { ClusterStore } from '../../model/store.ts';
import type { Inbound } from '../../http/inbound.ts';
import type { OpenStream, OpenStreams } from '../../routing/forward/open-streams.ts';
import type { Connections } from '../../routing/members/target.ts';
import { statusObject } from '../../request/answer/status.ts';

/**
 * Ends a stream with a Status as its last message. A request that the cluster has not answered yet is cut, because
 * there is no answer that could hold the Status.
 * @param open the stream, or the request while the cluster has not answered
 */
export function endStream(open: OpenStream | Inbound, reason: GatewayError): void {
  if ('kind' in open) open.end(reason, JSON.stringify(statusObject(reason)));
  else open.abort();
}

/**
 * Ends the streams of a cluster when the cluster is removed, loses its credential or becomes unusable. When a
 * credential is replaced by another, no stream is ended: clients must not notice a rotation.
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
