// Makes a ClusterJoin for each Cluster of Cluster API that has the label `gateway.portcullis.io/join: "true"`, from the
// kubeconfig that Cluster API keeps in a Secret, and deletes it when the Cluster is deleted or loses the label.
import type { HubClient, HubObject, HubObjects } from '../cache/hub/hub-types.ts';
import { startReflector, type Reflector } from '../cache/hub/reflector.ts';
import { annotationOf, oldestFirst } from '../cache/sources/objects/hub-object.ts';
import { isConflict, type HubWriter } from '../controllers/hub/hub-writer.ts';
import { isDeleting } from '../controllers/objects.ts';
import { makeQueue, type ControllerLog } from '../controllers/queue/logged-queue.ts';
import type { Outcome, WorkQueue } from '../controllers/queue/work-queue.ts';
import { clusterJoins, joinApiVersion, joinKind } from './object/cluster-join.ts';

/** Annotation of a ClusterJoin that was made for a Cluster: the Cluster's `NAMESPACE/NAME`. */
const originAnnotation = 'gateway.portcullis.io/cluster-api';
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
  readonly client: HubClient;
  readonly writer: HubWriter;
  readonly log: ControllerLog;
  readonly joins: () => HubObjects;
}

/** Makes and deletes these ClusterJoins from its construction until `close`. */
export class ClusterApiImport {
  readonly #options: ClusterApiOptions;
  readonly #clusters: readonly Reflector[];
  readonly #queue: WorkQueue;

  constructor(options: ClusterApiOptions) {
    this.#options = options;
    this.#queue = makeQueue('Cluster', 'join', options.log, (name) => this.#reconcile(name));
    this.#clusters = versions.map((version) => this.#follow(version));
  }

  /** Checks the ClusterJoin of this name again: the Cluster for which it was made may be gone. */
  look(name: string): void {
    this.#queue.add(name);
  }

  close(): void {
    this.#queue.close();
    for (const reflector of this.#clusters) reflector.close();
  }

  #follow(version: string): Reflector {
    const { client, log } = this.#options;
    return startReflector({
      client,
      resource: { group: 'cluster.x-k8s.io', version, resource: 'clusters', ...chosen },
      metadataOnly: true,
      timing: { missingPollMs },
      onChange: (changes) => {
        for (const { object } of changes) this.#queue.add(object.metadata.name);
      },
      onState: ({ fault, synced }) => {
        if (fault !== undefined) log.warn({ fault: fault.message }, 'join: Clusters of Cluster API cannot be read');
        // Clusters may have been deleted while they were not watched, so every ClusterJoin is checked.
        if (synced) for (const name of this.#options.joins().keys()) this.#queue.add(name);
      },
      onError: (error) => log.error({ err: error }, 'join: a Cluster of Cluster API could not be handled'),
    });
  }

  async #reconcile(name: string): Promise<Outcome> {
    const { writer } = this.#options;
    const join = this.#options.joins().get(name);
    const clusters = this.#chosen(name);
    if (join === undefined) {
      const [cluster] = clusters;
      if (cluster !== undefined) await this.#create(joinFor(cluster));
      return 'done';
    }
    const origin = annotationOf(join, originAnnotation);
    // A ClusterJoin without this annotation was made by a person and is left alone.
    if (origin === undefined || isDeleting(join)) return 'done';
    const isThere = clusters.some((each) => originOf(each) === origin);
    if (!isThere && this.#hasListed()) await writer.remove(clusterJoins, join);
    return 'done';
  }

  async #create(join: object): Promise<void> {
    try {
      await this.#options.writer.create(clusterJoins, join);
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }

  /** The Clusters of this name with the label that are not being deleted, the oldest first. */
  #chosen(name: string): readonly HubObject[] {
    return oldestFirst(...this.#clusters.map(({ objects }) => objects))
      .map(([, cluster]) => cluster)
      .filter((cluster) => cluster.metadata.name === name && !isDeleting(cluster));
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

function originOf({ metadata: { namespace = '', name } }: HubObject): string {
  return `${namespace}/${name}`;
}

function joinFor(cluster: HubObject): object {
  const { namespace = '', name } = cluster.metadata;
  return {
    apiVersion: joinApiVersion,
    kind: joinKind,
    metadata: { name, annotations: { [originAnnotation]: originOf(cluster) } },
    spec: {
      bootstrapKubeconfigSecret: { namespace, name: `${name}-kubeconfig`, key: 'value' },
      deleteBootstrapSecret: false,
      deregisterPolicy: giveUpAfter,
    },
  };
}
