// Follows the ClusterJoins of a hub, and decides for each of them what is to be done now: make the objects in the
// member, keep its token valid, or let the member leave.
import type { ApiObject } from '../kube/types.ts';
import type { Reflector } from '../kube/reflector/reflector.ts';
import type { ClusterRecord } from '../model/records.ts';
import { setFinalizer } from '../kube/objects/object-writer.ts';
import { conditionsOf, findCondition, generationOf } from '../kube/objects/conditions.ts';
import { isDeleting } from '../kube/objects/objects.ts';
import { Controller } from '../controllers/controller.ts';
import type { Outcome, WorkQueue } from '../controllers/queue/work-queue.ts';
import { makeBackoff, type Backoff } from '../lib/backoff.ts';
import type { Connections } from '../routing/members/target.ts';
import { makeAuthorities, type Authorities } from './authorities.ts';
import { ClusterApiImport, type ClusterApiOptions } from './cluster-api.ts';
import { accessIn, addressOf, readSecret } from './hub/cluster-secret.ts';
import { keepManagedCluster, managedClusters, recordReady } from './hub/managed-cluster.ts';
import { clusterJoins, installHash, isMadeFor, joinFinalizer, joinKind, joinSpecOf } from './object/cluster-join.ts';
import { makeClaims, type Claims } from './reconcile/claims.ts';
import { installMember } from './reconcile/install-member.ts';
import { StepFault, type JoinParts } from './reconcile/join-parts.ts';
import { JoinStatus } from './reconcile/join-status.ts';
import { keepMember } from './reconcile/keep-member.ts';
import { leaveMember } from './reconcile/leave-member.ts';
import { readinessOf } from './reconcile/ready.ts';

export interface JoinsOptions extends Omit<JoinParts, 'writer'>, Pick<ClusterApiOptions, 'bootstrapNamespaces'> {
  readonly connections: Connections;
}

/**
 * Number of ClusterJoins by state: `ready` when the cluster can be used, `leaving` when the ClusterJoin is being
 * deleted, else `waiting`.
 */
export type JoinNumbers = Readonly<Record<'ready' | 'waiting' | 'leaving', number>>;

/**
 * When the member of a ClusterJoin is contacted again. Until then, events of the hub cause no request to the member.
 */
interface NextContact {
  atMs: number;
  /** Whether something has changed since the last contact began, so that the next one is due at once. */
  isAsked: boolean;
  generation: number | undefined;
  readonly backoff: Backoff;
}

/** Longest time in milliseconds between two contacts with a member that has joined. */
const contactMs = 3_600_000;
const firstRetryMs = 1_000;
const maxRetryMs = 30_000;

/** Reconciles ClusterJoins from its construction until `close`. */
export class Joins {
  readonly #parts: JoinParts;
  readonly #controller: Controller;
  readonly #joins: Reflector;
  readonly #managed: Reflector;
  readonly #queue: WorkQueue;
  readonly #authorities: Authorities;
  readonly #claims: Claims;
  readonly #clusterApi: ClusterApiImport;
  readonly #contacts = new Map<string, NextContact>();

  constructor(options: JoinsOptions) {
    const { client, store, connections, log } = options;
    const controller = new Controller({ client, log, what: 'join' });
    this.#controller = controller;
    this.#parts = { ...options, writer: controller.writer };
    this.#queue = controller.queue(joinKind, (name) => this.#reconcile(name));
    this.#joins = controller.follow(clusterJoins, {
      onEach: ({ object: { metadata } }) => {
        this.#queue.add(metadata.name);
        this.#clusterApi.check(metadata.name);
      },
    });
    this.#managed = controller.follow(managedClusters, { onEach: ({ object }) => this.#add(object.metadata.name) });
    this.#claims = makeClaims(() => this.#joins.objects);
    this.#clusterApi = new ClusterApiImport({ ...options, joins: () => this.#joins.objects });
    controller.atClose(() => this.#clusterApi.close());
    this.#authorities = makeAuthorities({
      store,
      connections,
      onChange: (name) => this.#contactNow(name),
      onFault: (cluster, fault) =>
        log.warn({ cluster, fault }, 'join: the certificate authority of the cluster cannot be read'),
      onError: (error) => log.error({ err: error }, 'join: a certificate authority could not be handled'),
    });
    controller.atClose(() => this.#authorities.close());
    controller.atClose(store.subscribe(({ record: { spec } }) => this.#add(spec.originalName)));
  }

  /** The number of ClusterJoins in each state. */
  numbers(): JoinNumbers {
    const numbers = { ready: 0, waiting: 0, leaving: 0 };
    for (const join of this.#joins.objects.values()) {
      const isReady = findCondition(conditionsOf(join), 'Ready')?.status === 'True';
      numbers[isDeleting(join) ? 'leaving' : isReady ? 'ready' : 'waiting'] += 1;
    }
    return numbers;
  }

  close(): void {
    this.#controller.close();
  }

  /** Adds the ClusterJoin of this name to the queue, if there is one. */
  #add(name: string): void {
    if (this.#joins.objects.has(name)) this.#queue.add(name);
  }

  #contactNow(name: string): void {
    const contact = this.#contacts.get(name);
    if (contact !== undefined) contact.isAsked = true;
    this.#add(name);
  }

  async #reconcile(name: string): Promise<Outcome> {
    const join = this.#joins.objects.get(name);
    if (join === undefined) {
      this.#forget(name);
      return 'done';
    }
    const { writer } = this.#parts;
    const managed = this.#managed.objects.get(name);
    const status = new JoinStatus(join);
    if (isDeleting(join)) {
      this.#authorities.unfollow(name);
      return await leaveMember(this.#parts, join, status, managed);
    }
    if (managed !== undefined && isDeleting(managed) && isMadeFor(managed, join)) {
      await writer.remove(clusterJoins, join);
      return 'done';
    }
    await setFinalizer(writer, clusterJoins, join, { finalizer: joinFinalizer, wanted: true });
    if (!hasFinalizer(join)) return 'done';
    try {
      return { afterMs: await this.#contactAndRecord(join, status, managed) };
    } catch (error) {
      // The results were not written, for example because of a conflict, so the member must be contacted again.
      this.#contactOf(join).isAsked = true;
      throw error;
    }
  }

  /**
   * Contacts the member if it is time to, and writes the results into the status. Returns the milliseconds until the
   * next contact.
   */
  async #contactAndRecord(join: ApiObject, status: JoinStatus, managed: ApiObject | undefined): Promise<number> {
    const { writer } = this.#parts;
    const waitMs = await this.#contact(join, status);
    const ready = readinessOf(join, status, this.#recordOf(join.metadata.name), managed);
    status.setCondition('Ready', ready.status, ready.reason, ready.message);
    await status.save(writer);
    if (managed !== undefined) await recordReady(writer, managed, ready);
    return waitMs;
  }

  /**
   * Contacts the member if it is time to, and puts the results into `status`. Returns the milliseconds until the next
   * contact.
   */
  async #contact(join: ApiObject, status: JoinStatus): Promise<number> {
    const { name } = join.metadata;
    const contact = this.#contactOf(join);
    const generation = generationOf(join);
    if (!contact.isAsked && contact.generation === generation && contact.atMs > Date.now())
      return contact.atMs - Date.now();
    contact.isAsked = false;
    let waitMs: number;
    try {
      await this.#installOrKeep(join, status);
      contact.backoff.reset();
      const rotateMs = Date.parse(status.memory.credential?.rotateAt ?? '') - Date.now();
      waitMs = Math.max(500, Math.min(contactMs, Number.isNaN(rotateMs) ? contactMs : rotateMs));
      this.#authorities.follow(name, joinSpecOf(join).memberNamespace);
    } catch (error) {
      if (!(error instanceof StepFault)) throw error;
      status.setCondition(error.step, 'False', error.reason, error.message);
      waitMs = contact.backoff.next();
    }
    contact.generation = generation;
    contact.atMs = Date.now() + waitMs;
    return waitMs;
  }

  #contactOf({ metadata: { name } }: ApiObject): NextContact {
    const known = this.#contacts.get(name);
    if (known !== undefined) return known;
    const made = {
      atMs: 0,
      isAsked: false,
      generation: undefined,
      backoff: makeBackoff(firstRetryMs, maxRetryMs, Math.random),
    };
    this.#contacts.set(name, made);
    return made;
  }

  async #installOrKeep(join: ApiObject, status: JoinStatus): Promise<void> {
    const { name } = join.metadata;
    const spec = joinSpecOf(join);
    let secret = await this.#secretOf(join);
    const hasJoined = secret !== undefined && status.memory.credential !== undefined;
    if (!hasJoined || status.memory.installedHash !== installHash(spec)) {
      await this.#install(join, status, hasJoined);
      // The install may have stored another credential.
      if (hasJoined) secret = await this.#secretOf(join);
    }
    if (!hasJoined || secret === undefined) return await this.#keepManaged(join, status);
    try {
      await keepMember(this.#parts, join, status, secret, this.#authorities.of(name));
    } catch (error) {
      if (!(error instanceof StepFault) || error.reason !== 'CredentialRefused') throw error;
      // The token has expired, or its ServiceAccount is gone. The bootstrap credential, if its Secret still exists, can
      // make both anew.
      status.setCondition(
        'CredentialIssued',
        'False',
        'CredentialExpired',
        'the cluster refuses the token of the gateway',
      );
      await installMember(this.#parts, join, status, this.#claims);
    }
    await this.#keepManaged(join, status);
  }

  /** The Secret with the member's credential; undefined while there is none that was made for this ClusterJoin. */
  async #secretOf(join: ApiObject): Promise<ApiObject | undefined> {
    const found = await readSecret(this.#parts.client, this.#parts.secretNamespace, join.metadata.name);
    return found !== undefined && isMadeFor(found, join) ? found : undefined;
  }

  /**
   * Makes the objects of the ClusterJoin in the member. @param hasJoined whether the member has joined already: without
   * a bootstrap Secret it then stays usable, but with the rights of an earlier spec
   */
  async #install(join: ApiObject, status: JoinStatus, hasJoined: boolean): Promise<void> {
    try {
      await installMember(this.#parts, join, status, this.#claims);
    } catch (error) {
      if (!hasJoined || !(error instanceof StepFault) || error.reason !== 'BootstrapMissing') throw error;
      const message = `the spec has changed, and only a bootstrap credential may change rights in the cluster: ${error.message}`;
      status.setCondition('Installed', 'False', 'BootstrapNeeded', message);
    }
  }

  /** Creates or updates the ManagedCluster if the ClusterJoin asks for one. */
  async #keepManaged(join: ApiObject, status: JoinStatus): Promise<void> {
    if (!joinSpecOf(join).managedCluster) return;
    const { client, secretNamespace, writer } = this.#parts;
    const secret = await readSecret(client, secretNamespace, join.metadata.name);
    if (secret === undefined) return;
    const access = accessIn(secret);
    const { ca } = access.tls;
    const caBundle = status.memory.caBundle || (ca && Buffer.from(ca).toString('base64'));
    const config = { url: addressOf(access), caBundle };
    await keepManagedCluster(writer, join, this.#managed.objects.get(join.metadata.name), config);
  }

  /**
   * The gateway's record of the cluster; undefined when the record does not come from the Secret of this ClusterJoin.
   */
  #recordOf(name: string): ClusterRecord | undefined {
    const record = this.#parts.store.get(name);
    const from = record?.spec.clusterGateway?.secret;
    const isOurs = from?.namespace === this.#parts.secretNamespace && from.name === name;
    return isOurs ? record : undefined;
  }

  #forget(name: string): void {
    this.#authorities.unfollow(name);
    this.#contacts.delete(name);
    this.#claims.release(name);
  }
}

function hasFinalizer({ metadata }: ApiObject): boolean {
  return (metadata as { readonly finalizers?: readonly string[] }).finalizers?.includes(joinFinalizer) === true;
}
