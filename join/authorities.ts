// Watches the certificate authority of each member that has joined. Kubernetes writes it into the ConfigMap
// `kube-root-ca.crt` of every namespace; it is read in the namespace of the gateway's ServiceAccount, with the
// gateway's own credential.
import { textAt } from '../lib/objects/json-object.ts';
import { startReflector, type Reflector } from '../kube/reflector/reflector.ts';
import type { ClusterReader } from '../model/store.ts';
import type { ClusterRecord } from '../model/records.ts';
import { makeMemberClient } from '../distribute/member/member-client.ts';
import type { Connections } from '../routing/members/target.ts';
import { authorityConfigMap } from './member/access-objects.ts';

export interface AuthoritiesOptions {
  readonly store: Pick<ClusterReader, 'get'>;
  readonly connections: Connections;
  /** Called when the certificate authority of a member may have changed. */
  readonly onChange: (cluster: string) => void;
  /** Called with the reason why the certificate authority of a member cannot be read. */
  readonly onFault: (cluster: string, message: string) => void;
  readonly onError: (error: unknown) => void;
}

export interface Authorities {
  /**
   * Begins to watch the ConfigMap with the member's certificate authority. Does nothing if it is watched already, or
   * after `close`.
   */
  follow(cluster: string, namespace: string): void;
  unfollow(cluster: string): void;
  /** The certificate authority as PEM text; undefined while it is unknown. */
  of(cluster: string): string | undefined;
  close(): void;
}

export function makeAuthorities({ store, connections, onChange, onFault, onError }: AuthoritiesOptions): Authorities {
  const reflectors = new Map<string, Reflector>();
  let closed = false;
  return {
    follow(cluster, namespace) {
      // A reconciliation that is still running after `close` may call this. A new watch would keep the process alive.
      if (closed || reflectors.has(cluster)) return;
      const record = (): ClusterRecord | undefined => store.get(cluster);
      const access = { cluster, record, connections, userAgent: 'portcullis-join' };
      const reflector = startReflector({
        client: makeMemberClient(access, () => 'self'),
        resource: {
          ...{ group: '', version: 'v1', resource: 'configmaps', namespace },
          fieldSelector: `metadata.name=${authorityConfigMap}`,
        },
        onChange: () => onChange(cluster),
        onState: ({ fault }) => {
          if (fault !== undefined) onFault(cluster, fault.message);
        },
        onError,
      });
      reflectors.set(cluster, reflector);
    },
    unfollow(cluster) {
      reflectors.get(cluster)?.close();
      reflectors.delete(cluster);
    },
    of(cluster) {
      for (const object of reflectors.get(cluster)?.objects.values() ?? [])
        return textAt(object, 'data', 'ca.crt') || undefined;
      return undefined;
    },
    close() {
      closed = true;
      for (const cluster of [...reflectors.keys()]) this.unfollow(cluster);
    },
  };
}
