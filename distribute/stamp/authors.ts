// Decides whether the author of an object of the hub (ManifestWork, TenantBinding or ClusterPermission) is proven:
// whether the hub's admission policy was in force when the annotation with the author's name was written. Nothing is
// done for an object whose author is not proven.
import { isJsonObject, textAt } from '../../lib/objects/json-object.ts';
import { longestTimerMs } from '../../lib/duration.ts';
import { createHash } from 'node:crypto';
import { startReflector, type Reflector, type ReflectorState } from '../../kube/reflector/reflector.ts';
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import { GatewayError } from '../../model/errors.ts';
import { makeUser, type User } from '../../model/user.ts';
import { conditionsOf, findCondition, generationOf, type Finding } from '../../kube/objects/conditions.ts';
import { modifierAnnotation, type StampPolicy } from './stamp-policy.ts';
import { parseJson } from '../../lib/json/parse-json.ts';

/** A user of the hub, as the annotation names it. */
export interface Modifier {
  readonly name: string;
  readonly groups: readonly string[];
}

/** The user of the hub who last changed an object's spec. */
export interface Author {
  /** Two authors with the same key are the same user with the same groups. */
  readonly key: string;
  readonly modifier: Modifier;
  readonly user: User;
}

/**
 * Makes an author of a user that an annotation or status records. @throws GatewayError IDENTITY_REFUSED for a name that
 * cannot be sent
 */
export function authorFrom(modifier: Modifier): Author {
  const { name, groups } = modifier;
  return { key: JSON.stringify([name, groups]), modifier, user: makeUser({ name, groups, origin: 'hub' }) };
}

/**
 * Returns the author that an object's annotation names, proven or not; undefined without the annotation; a message when
 * the named user is no valid identity.
 */
export function authorOf(object: ApiObject): Author | { readonly fault: string } | undefined {
  const modifier = lastModifierOf(object);
  if (modifier === undefined || 'fault' in modifier) return modifier;
  try {
    return authorFrom(modifier);
  } catch (error) {
    if (error instanceof GatewayError) return { fault: error.message };
    throw error;
  }
}

/** Returns the user that the annotation names; undefined without it, a message when it cannot be read. */
export function lastModifierOf(object: ApiObject): Modifier | { readonly fault: string } | undefined {
  const text = textAt(object, 'metadata', 'annotations', modifierAnnotation);
  if (text === '') return undefined;
  const fault = `the annotation ${modifierAnnotation} is not what the hub's policy writes`;
  let stamp: unknown;
  try {
    stamp = parseJson(text);
  } catch {
    return { fault };
  }
  if (!isJsonObject(stamp)) return { fault };
  const { user, groups } = stamp;
  if (typeof user !== 'string' || user === '' || !Array.isArray(groups)) return { fault };
  return groups.every((each) => typeof each === 'string') ? { name: user, groups } : { fault };
}

/** Type of the condition by which a restarted gateway knows that the author of this generation was proven before. */
const acceptedType = 'gateway.portcullis.io/AuthorAccepted';
/**
 * Milliseconds after the creation of the policy and its binding in which no annotation is trusted: API servers begin to
 * enforce a policy only some time after its creation.
 */
const settleMs = 5_000;

export interface AuthorsOptions {
  readonly client: ApiClient;
  /** The admission policies that must be in force on the hub. */
  readonly policy: StampPolicy;
  /**
   * Called when the answer of `of` may have changed, since the policy or its binding was created, changed or deleted.
   */
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
}

export class Authors {
  readonly #rules: StampPolicy;
  readonly #policy: Reflector;
  readonly #binding: Reflector;
  readonly #onChange: () => void;
  /**
   * The generation that each object, by its UID, had when it was first seen while the policy was in force. A later
   * generation was written under the policy.
   */
  readonly #first = new Map<string, number | undefined>();
  #settling: NodeJS.Timeout | undefined;

  constructor({ client, policy, onChange, onError }: AuthorsOptions) {
    this.#rules = policy;
    this.#onChange = onChange;
    const follow = (resource: string): Reflector =>
      startReflector({
        client,
        resource: {
          ...{ group: 'admissionregistration.k8s.io', version: 'v1', resource },
          fieldSelector: `metadata.name=${policy.name}`,
        },
        onChange: () => this.#look(),
        onState: () => this.#onChange(),
        onError,
      });
    this.#policy = follow('validatingadmissionpolicies');
    this.#binding = follow('validatingadmissionpolicybindings');
  }

  close(): void {
    clearTimeout(this.#settling);
    this.#policy.close();
    this.#binding.close();
  }

  /** Whether the policy and its binding are still being read from the hub, so that `of` cannot answer yet. */
  isReading(): boolean {
    return this.#states().some(({ synced, fault }) => !synced && fault === undefined);
  }

  /** A text that changes when `of` may give another answer for objects that have not changed. */
  standing(): string {
    if (this.isReading()) return 'reading';
    const since = this.#sinceMs();
    return typeof since === 'string' ? since : `${since} ${since <= Date.now()}`;
  }

  /** Drops what is stored about an object that was deleted. */
  forget(uid: string): void {
    this.#first.delete(uid);
  }

  /** Returns the author, or the reason why the author is not proven. */
  of(object: ApiObject): Author | { readonly fault: string } {
    const { metadata } = object;
    const since = this.#sinceMs();
    if (typeof since === 'string') return { fault: since };
    // Recorded even for an object without the annotation, so that the author of its next change counts as proven.
    if (Date.now() >= since && !this.#first.has(metadata.uid)) this.#first.set(metadata.uid, generationOf(object));
    const author = authorOf(object);
    if (author === undefined)
      return { fault: `nobody is written in ${modifierAnnotation}: change its spec, so that the hub writes who did` };
    if ('fault' in author) return author;
    const wasMadeSince = Date.parse(metadata.creationTimestamp ?? '') > since;
    const hasChangedSince = this.#first.has(metadata.uid) && this.#first.get(metadata.uid) !== generationOf(object);
    if (!wasMadeSince && !hasChangedSince && !isAccepted(object))
      return {
        fault: `it is older than the admission policy ${this.#rules.name}, so its author is not proven: change its spec, or make it again`,
      };
    return author;
  }

  /** From which time on annotations are trusted, in Unix milliseconds; a text with the reason when none is. */
  #sinceMs(): number | string {
    const unread = this.#states().find(({ synced }) => !synced);
    if (unread !== undefined) return `the policy ${this.#rules.name} cannot be read: ${unread.fault?.message}`;
    const policy = this.#policy.objects.get(this.#rules.name);
    const binding = this.#binding.objects.get(this.#rules.name);
    const fault = this.#rules.fault(policy, binding);
    if (fault !== undefined || policy === undefined || binding === undefined) return fault ?? '';
    return Math.max(...[policy, binding].map((each) => Date.parse(each.metadata.creationTimestamp ?? ''))) + settleMs;
  }

  #states(): readonly ReflectorState[] {
    return [this.#policy.state(), this.#binding.state()];
  }

  #look(): void {
    const since = this.#sinceMs();
    this.#first.clear();
    clearTimeout(this.#settling);
    if (typeof since === 'number' && since > Date.now())
      this.#settling = setTimeout(() => this.#look(), Math.min(since - Date.now() + 1, longestTimerMs)).unref();
    this.#onChange();
  }
}

/** The condition that records that the author of this generation is proven. Its message is a hash of the annotation. */
export function acceptance(object: ApiObject): Finding {
  return { type: acceptedType, status: 'True', reason: 'Proven', message: stampOf(object) };
}

/** The condition of `acceptance` while it holds for the object as it is; empty when it does not. */
export function acceptedBefore(object: ApiObject): readonly Finding[] {
  return isAccepted(object) ? [acceptance(object)] : [];
}

function isAccepted(object: ApiObject): boolean {
  const found = findCondition(conditionsOf(object), acceptedType);
  return (
    found?.status === 'True' && found.observedGeneration === generationOf(object) && found.message === stampOf(object)
  );
}

function stampOf(object: ApiObject): string {
  const text = textAt(object, 'metadata', 'annotations', modifierAnnotation);
  return createHash('sha256').update(text).digest('hex');
}
