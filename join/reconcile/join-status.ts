// The status of a ClusterJoin during one reconciliation, which collects changes here. It is written only if something
// has changed.
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '../../kube/types.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import {
  conditionsOf,
  findCondition,
  generationOf,
  withConditions,
  type Condition,
  type Finding,
} from '../../kube/objects/conditions.ts';
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import { isSame } from '../member/made-objects.ts';
import { clusterJoins, memoryOf, type InstalledObject, type JoinMemory } from '../object/cluster-join.ts';

export class JoinStatus {
  #join: ApiObject;
  #conditions: readonly Condition[];
  #fields: Readonly<Record<string, unknown>>;

  constructor(join: ApiObject) {
    this.#join = join;
    this.#conditions = conditionsOf(join);
    this.#fields = (fieldOf(join, 'status') as Record<string, unknown> | undefined) ?? {};
  }

  /** The ClusterJoin as it was read, or as the hub returned it after the last write here. */
  get join(): ApiObject {
    return this.#join;
  }

  /** The fields of the status beside the conditions, with the changes that are not written yet. */
  get memory(): JoinMemory {
    return memoryOf({ ...this.#join, status: this.#fields });
  }

  setCondition(...finding: readonly [type: string, status: Finding['status'], reason: string, message: string]): void {
    const [type, status, reason, message] = finding;
    this.#conditions = withConditions(this.#conditions, [{ type, status, reason, message }], generationOf(this.#join));
  }

  isTrue(type: string): boolean {
    return findCondition(this.#conditions, type)?.status === 'True';
  }

  condition(type: string): Condition | undefined {
    return findCondition(this.#conditions, type);
  }

  /** Replaces fields of the status; null removes a field. */
  set(fields: Readonly<Record<string, unknown>>): void {
    this.#fields = { ...this.#fields, ...fields };
  }

  /** Adds an object of the member to `installed`, in place of an earlier one with the same kind and name. */
  recordInstalled(object: InstalledObject): void {
    this.set({ installed: [...this.memory.installed.filter((each) => !isSame(each, object)), object] });
  }

  /** Removes an object that is gone from `installed`. */
  recordRemoved(object: InstalledObject): void {
    this.set({ installed: this.memory.installed.filter((each) => !isSame(each, object)) });
  }

  /**
   * Writes the status if it changed. @throws HubRefusal, with status 409 when somebody else has changed the
   * ClusterJoin; GatewayError
   */
  async save(writer: ObjectWriter): Promise<void> {
    const status = { ...this.#fields, conditions: this.#conditions };
    if (isDeepStrictEqual(status, { conditions: [], ...(fieldOf(this.#join, 'status') as object | undefined) })) return;
    this.#join = await writer.patchStatus(clusterJoins, this.#join, status);
    this.#fields = (fieldOf(this.#join, 'status') as Record<string, unknown> | undefined) ?? {};
    this.#conditions = conditionsOf(this.#join);
  }
}
