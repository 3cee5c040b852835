// Turns the error with which applying a manifest failed into reason and message of a condition. Where OCM's agent has a
// wording for it, that wording is used.
import { GatewayError } from '../../model/errors.ts';
import { MemberRefusal, type ObjectName } from '../member/member-objects.ts';
import { IgnoreFieldFault } from './ignore-fields.ts';

/** Why a manifest was not applied, as the condition Applied of the manifest says it. */
export interface ApplyFault {
  readonly reason: 'AppliedManifestFailed' | 'AppliedManifestSSAIgnoreFieldError';
  readonly message: string;
  /** Milliseconds until the next attempt; undefined when the work queue chooses the time, longer after each failure. */
  readonly againMs?: number;
  /**
   * True when the executor (the identity that writes the objects) lacks a right. The manifest is then tried again as
   * soon as the executor's rights change.
   */
  readonly isDenial?: true;
}

/**
 * Milliseconds until a manifest is tried again after the member refused it, or after a conflict with another field
 * manager.
 */
export const refusedForMs = 60_000;

/**
 * Thrown before anything is written when the executor (the identity that writes the objects) lacks a right that
 * applying the manifest needs.
 */
export class MissingRight extends Error {
  override readonly name = 'MissingRight';
}

/**
 * Thrown when server-side apply is refused because another field manager owns some of the fields; the message names it.
 */
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
  const missing = object === undefined ? undefined : missingRight(object, error);
  if (missing !== undefined) return { ...failed(missing, refusedForMs), isDenial: true };
  if (error instanceof GatewayError && error.code === 'IDENTITY_REFUSED') return failed(error.message, refusedForMs);
  return failed(error instanceof Error ? error.message : 'unknown fault');
}

/**
 * Returns a message with the right that the executor (the identity that writes the objects) lacks; undefined when the
 * error has another cause.
 */
function missingRight(object: ObjectName, error: unknown): string | undefined {
  if (error instanceof MissingRight) return denial(object, error.message);
  if (!(error instanceof MemberRefusal) || error.status !== 403) return undefined;
  if (isEscalation(error)) return denial(object, error.message, ', error: permission escalation');
  // Other refusals with status 403 may end without any new right, such as those in a namespace that is being deleted.
  return isMissingRight(error) ? denial(object, error.message) : undefined;
}

function isEscalation({ message }: MemberRefusal): boolean {
  return /attempting to grant RBAC permissions not currently held/.test(message);
}

function isMissingRight({ message }: MemberRefusal): boolean {
  return /User "[^"]*" cannot \w+ resource/.test(message);
}

/** Makes the message: the text of OCM's agent, then `detail`, the member's text, which says who lacks the right. */
function denial({ kind, namespace, name }: ObjectName, detail: string, escalation = ''): string {
  const { group, resource } = kind;
  return `not allowed to apply the resource ${group} ${resource}, ${namespace} ${name}${escalation}, will try again in 1m0s: ${detail}`;
}
