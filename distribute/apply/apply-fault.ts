// Why a manifest was not applied, in the words of OCM's agent where it has some.
import { GatewayError } from '../../cache/model/errors.ts';
import { MemberRefusal, type ObjectName } from '../member/member-objects.ts';
import { IgnoreFieldFault } from './ignore-fields.ts';

/** A manifest was not applied. */
export interface ApplyFault {
  readonly reason: 'AppliedManifestFailed' | 'AppliedManifestSSAIgnoreFieldError';
  readonly message: string;
  /** After how long it makes sense to try again; undefined: by growing waits. */
  readonly againMs?: number;
}

/** What would be refused again, and what another owner holds, is not tried more often than this. */
export const refusedForMs = 60_000;

/** A right is missing that was asked for before anything was written. */
export class MissingRight extends Error {
  override readonly name = 'MissingRight';
}

/** Server-side apply met fields of another manager. The message names it. */
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

/** OCM's words, and then whose right for what is missing. */
function denial({ kind, namespace, name }: ObjectName, detail: string, escalation = ''): string {
  const { group, resource } = kind;
  return `not allowed to apply the resource ${group} ${resource}, ${namespace} ${name}${escalation}, will try again in 1m0s: ${detail}`;
}
