// Turns the reason why a manifest was not applied into a condition's reason and message. OCM's agent's wording is used
// where it has one.
import { GatewayError } from '../../cache/model/errors.ts';
import { MemberRefusal, type ObjectName } from '../member/member-objects.ts';
import { IgnoreFieldFault } from './ignore-fields.ts';

/** The reason why a manifest was not applied. */
export interface ApplyFault {
  readonly reason: 'AppliedManifestFailed' | 'AppliedManifestSSAIgnoreFieldError';
  readonly message: string;
  /** Milliseconds until the next attempt; undefined lets the work queue choose growing waiting times. */
  readonly againMs?: number;
}

/**
 * Milliseconds until a manifest is tried again after the member refused it or another field manager held its fields.
 */
export const refusedForMs = 60_000;

/** Thrown before anything is written when the executor lacks a right that applying the manifest needs. */
export class MissingRight extends Error {
  override readonly name = 'MissingRight';
}

/** Server-side apply met fields of another field manager, which the message names. */
export class ApplyConflict extends Error {
  override readonly name = 'ApplyConflict';
}

export function faultOf(error: unknown, object: ObjectName | undefined): ApplyFault {
  if (error instanceof IgnoreFieldFault) {
    const message = `Failed to process ignoreFields: ${error.message}`;
    return { reason: 'AppliedManifestSSAIgnoreFieldError', message, againMs: refusedForMs };
  }
  const failed = (message: string, againMs?: number): ApplyFault => ({
    reason: 'AppliedManifestFailed',
    message: `Failed to apply manifest: ${message}`,
    ...(againMs === undefined ? {} : { againMs }),
  });
  if (error instanceof ApplyConflict) return failed(error.message, refusedForMs);
  if (object !== undefined && error instanceof MissingRight) return failed(denial(object, error.message), refusedForMs);
  if (object !== undefined && error instanceof MemberRefusal && error.status === 403) {
    if (isEscalation(error))
      return failed(denial(object, error.message, ', error: permission escalation'), refusedForMs);
    // Other refusals, such as those of a namespace that is being deleted, may end by themselves.
    if (isMissingRight(error)) return failed(denial(object, error.message), refusedForMs);
  }
  if (error instanceof GatewayError && error.code === 'IDENTITY_REFUSED') return failed(error.message, refusedForMs);
  return failed(error instanceof Error ? error.message : 'unknown fault');
}

function isEscalation({ message }: MemberRefusal): boolean {
  return /attempting to grant RBAC permissions not currently held/.test(message);
}

function isMissingRight({ message }: MemberRefusal): boolean {
  return /User "[^"]*" cannot \w+ resource/.test(message);
}

/** Begins with the message of OCM's agent and ends with the detail, which tells whose right is missing. */
function denial({ kind, namespace, name }: ObjectName, detail: string, escalation = ''): string {
  const { group, resource } = kind;
  return `not allowed to apply the resource ${group} ${resource}, ${namespace} ${name}${escalation}, will try again in 1m0s: ${detail}`;
}
