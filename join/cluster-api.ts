// Makes a ClusterJoin for each Cluster of Cluster API that has the label `gateway.portcullis.io/join: "true"`, from the
// kubeconfig that Cluster API keeps in a Secret, and deletes it when the Cluster is deleted or loses the label.
import { isDeepStrictEqual } from 'node:util';
import type { ApiClient, ApiObject, ApiObjects } from '../kube/types.ts';
import type { Reflector } from '../kube/reflector/reflector.ts';
import { annotationOf, oldestFirst } from '../cache/sources/objects/hub-object.ts';
import { isConflict } from '../kube/objects/object-writer.ts';
import { isDeleting } from '../kube/objects/objects.ts';
import { Controller } from '../controllers/controller.ts';
import type { ControllerLog } from '../controllers/queue/logged-queue.ts';
import type { Outcome, WorkQueue } from '../controllers/queue/work-queue.ts';
import { clusterJoins, joinApiVersion, joinKind, joinSpecOf, type JoinSpec } from './object/cluster-join.ts';

/** Annotation of a ClusterJoin that was made for a Cluster: the Cluster's `NAMESPACE/NAME`. */
const originAnnotation = 'gateway.portcullis.io/cluster-api';
/** Annotation of the same ClusterJoin: the Cluster's UID. */
const uidAnnotation = 'gateway.portcullis.io/cluster-api-uid';
const chosen = { labelSelector: 'gateway.portcullis.io/join=true' } as const;
/**
 * Both versions are watched, since an older Cluster API serves only v1beta1. The fields that are read here are the same
 * in both.
 */
const versions = ['v1beta2', 'v1beta1'] as const;
const missingPollMs = 30_000;
/**
 * `deregisterPolicy` of these ClusterJoins: give up after ten minutes. The deletion of a Cluster also deletes the
 * machines of the member, so the member may no longer answer when its objects are to be removed.
 */
const giveUpAfter = 'ForceAfter:10m';

export interface ClusterApiOptions {
  readonly client: ApiClient;
  readonly log: ControllerLog;
  readonly joins: () => ApiObjects;
  /**
   * Namespaces whose Clusters are used. In other namespaces, people may create Clusters who must not be able to let
   * clusters join.
   */
  readonly bootstrapNamespaces: readonly string[];
}

/** Makes ClusterJoins for labelled Clusters, and deletes them, from its construction until `close`. */
export class ClusterApiImport {
  readonly #options: ClusterApiOptions;
  readonly #controller: Controller;
  readonly #clusters: readonly Reflector[];
  readonly #queue: WorkQueue;

  constructor(options: ClusterApiOptions) {
    this.#options = options;
    const { client, log, joins } = options;
    this.#controller = new Controller({ client, log, what: 'join', timing: { missingPollMs } });
    this.#queue = this.#controller.queue('Cluster', (name) => this.#reconcile(name));
    this.#clusters = versions.map((version) =>
      this.#controller.follow(
        { group: 'cluster.x-k8s.io', version, resource: 'clusters', ...chosen },
        {
          metadataOnly: true,
          onEach: ({ type, object }) => {
            if (type === 'ADDED' && !this.#isInPlace(object)) this.#warnOfPlace(object);
            this.#queue.add(object.metadata.name);
          },
          onState: ({ synced }) => {
            // Clusters may have been deleted while they were not watched, so every ClusterJoin is checked.
            if (synced) for (const name of joins().keys()) this.#queue.add(name);
          },
        },
      ),
    );
  }

  /** Checks the ClusterJoin of this name again: the Cluster for which it was made may be gone. */
  check(name: string): void {
    this.#queue.add(name);
  }

  close(): void {
    this.#controller.close();
  }

  async #reconcile(name: string): Promise<Outcome> {
    const { writer } = this.#controller;
    const join = this.#options.joins().get(name);
    const clusters = this.#chosen(name);
    if (join === undefined) {
      const [cluster] = clusters;
      if (cluster !== undefined) await this.#create(joinFor(cluster));
      return 'done';
    }
    // A ClusterJoin that a person wrote, or gave another bootstrap kubeconfig, is left alone.
    if (isDeleting(join) || !this.#isMadeHere(join)) return 'done';
    const uid = annotationOf(join, uidAnnotation);
    const same = clusters.find((each) => originOf(each) === annotationOf(join, originAnnotation));
    if (uid === undefined) {
      // Version 0.1.0 wrote no UID.
      const annotations = { [uidAnnotation]: same?.metadata.uid };
      if (same !== undefined) await writer.patch(clusterJoins, join, { metadata: { annotations } });
    } else if (same?.metadata.uid !== uid && this.#hasListed()) await writer.remove(clusterJoins, join);
    return 'done';
  }

  /** Whether the ClusterJoin was made for a Cluster of these namespaces, and still joins by that Cluster's Secret. */
  #isMadeHere(join: ApiObject): boolean {
    const [namespace = '', ...rest] = (annotationOf(join, originAnnotation) ?? '').split('/');
    const { name } = join.metadata;
    return (
      rest.join('/') === name &&
      this.#options.bootstrapNamespaces.includes(namespace) &&
      isDeepStrictEqual(joinSpecOf(join).bootstrap, bootstrapOf(namespace, name))
    );
  }

  #warnOfPlace(cluster: ApiObject): void {
    const fault = 'its namespace is none of --joins-bootstrap-namespaces';
    this.#options.log.warn(
      { cluster: originOf(cluster), fault },
      'join: the label gateway.portcullis.io/join of a Cluster has no effect',
    );
  }

  async #create(join: object): Promise<void> {
    try {
      await this.#controller.writer.create(clusterJoins, join);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }

  /** The Clusters with this name in the bootstrap namespaces that are not being deleted, the oldest first. */
  #chosen(name: string): readonly ApiObject[] {
    return oldestFirst(...this.#clusters.map(({ objects }) => objects))
      .map(([, cluster]) => cluster)
      .filter((cluster) => cluster.metadata.name === name && !isDeleting(cluster) && this.#isInPlace(cluster));
  }

  #isInPlace({ metadata: { namespace = '' } }: ApiObject): boolean {
    return this.#options.bootstrapNamespaces.includes(namespace);
  }

  /**
   * Whether all Clusters are known. They are not while the hub serves no version of the type, for example because
   * somebody replaces its CustomResourceDefinition.
   */
  #hasListed(): boolean {
    const states = this.#clusters.map((reflector) => reflector.state());
    const isKnown = states.every(({ phase, synced }) => phase === 'missing' || (synced && phase === 'watching'));
    return isKnown && states.some(({ phase }) => phase === 'watching');
  }
}

function originOf({ metadata: { namespace = '', name } }: ApiObject): string {
  return `${namespace}/${name}`;
}

/** Namespace, name and key of the Secret in which Cluster API keeps the kubeconfig of a Cluster. */
function bootstrapOf(namespace: string, name: string): JoinSpec['bootstrap'] {
  return { namespace, name: `${name}-kubeconfig`, key: 'value' };
}

function joinFor(cluster: ApiObject): object {
  const { namespace = '', name, uid } = cluster.metadata;
  return {
    apiVersion: joinApiVersion,
    kind: joinKind,
    metadata: { name, annotations: { [originAnnotation]: originOf(cluster), [uidAnnotation]: uid } },
    spec: {
      bootstrapKubeconfigSecret: bootstrapOf(namespace, name),
      deleteBootstrapSecret: false,
      deregisterPolicy: giveUpAfter,
    },
  };
}
