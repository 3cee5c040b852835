// The clients and settings that every step of reconciling a ClusterJoin uses, and the error that ends a step.
import type { AddressRule } from '../../model/address-rule.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterReader } from '../../model/store.ts';
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import { UnusableName } from '../../kube/paths.ts';
import { HubRefusal, type ObjectWriter } from '../../kube/objects/object-writer.ts';
import type { ControllerLog } from '../../controllers/queue/logged-queue.ts';
import type { MemberClient } from '../../distribute/member/member-client.ts';
import {
  makeMemberObjects,
  MemberRefusal,
  type MemberObjects,
  type MemberWrite,
} from '../../distribute/member/member-objects.ts';
import { fieldManager } from '../member/install.ts';

/** A write to a member, with the ClusterJoin for which it is made. */
export interface JoinWrite extends MemberWrite {
  readonly join: { readonly name: string; readonly uid: string };
}

export interface JoinParts {
  readonly client: ApiClient;
  readonly writer: ObjectWriter;
  /** Namespace of the Secrets that register members with the gateway. */
  readonly secretNamespace: string;
  /** Which addresses a member may have. */
  readonly rule: AddressRule;
  readonly store: Pick<ClusterReader, 'get' | 'subscribe'>;
  /** Called before each write to a member, for the audit log. */
  readonly onWrite: (write: JoinWrite) => Promise<(status: number) => void>;
  readonly log: ControllerLog;
  /** Factor for the times after which tokens are replaced; below 1 in tests, otherwise 1. */
  readonly timeScale: number;
}

/** Returns access to objects of the member. Each write is reported to `onWrite` as one for this ClusterJoin. */
export function objectsFor({ onWrite }: JoinParts, join: ApiObject, client: MemberClient): MemberObjects {
  const { name, uid } = join.metadata;
  return makeMemberObjects(client, fieldManager, (write) => onWrite({ ...write, join: { name, uid } }));
}

/** The steps of a join. Each is also the type of a condition of the ClusterJoin. */
export type Step = 'Reached' | 'RightsSufficient' | 'Installed' | 'CredentialIssued' | 'Verified';

/**
 * Thrown when a step cannot be done now. The condition of the step gets reason and message, and the step is tried
 * again.
 */
export class StepFault extends Error {
  override readonly name = 'StepFault';
  readonly step: Step;
  readonly reason: string;
  constructor(step: Step, reason: string, message: string) {
    super(message);
    this.step = step;
    this.reason = reason;
  }
}

/**
 * Runs a step, and turns its errors into StepFaults.
 * @throws StepFault when hub or member refuse or do not answer, and for names that no object has; whatever else `work`
 * throws
 */
export async function inStep<Result>(step: Step, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    throw new StepFault(step, reason, (error as Error).message);
  }
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof MemberRefusal) return error.status === 401 ? 'CredentialRefused' : 'RefusedByCluster';
  if (error instanceof UnusableName) return 'InvalidName';
  if (error instanceof HubRefusal && error.status !== 409) return 'RefusedByHub';
  if (!(error instanceof GatewayError)) return undefined;
  return error.code === 'CLUSTER_UNUSABLE' ? 'InvalidBootstrap' : 'Unreachable';
}
