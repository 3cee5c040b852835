// Describes the state of indexing one cluster: a word for a table column, and a condition that says how to correct a
// fault. Everyone who may see the cluster can read both, even without access to its objects. So they name no types and
// count no objects.
import { ownCredential } from './member/sync-types.ts';
import { mendCommand } from './member/read-as.ts';
import type { ClusterState, TypeState } from './member/sync-types.ts';

/** How the indexing of one cluster is shown to users: as a word in a table column, and as a condition. */
export interface Indexed {
  /** The word for the column: `Synced`, `Syncing 40 %`, `Forbidden`, `Stale`, or `-` when no rows exist yet. */
  readonly summary: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/**
 * Describes the indexing of one cluster.
 * @param mend the command by which an administrator grants the index the rights that it lacks in this cluster
 */
export function indexedOf(state: ClusterState, mend = mendCommand()): Indexed {
  const { fault, types } = state;
  if (fault?.reason === 'InvalidOptions') return notIndexed('-', fault.reason, fault.message);
  if (fault?.reason === 'Forbidden')
    return notIndexed(
      'Forbidden',
      'Forbidden',
      fault.message.replace(mendCommand(), () => mend),
    );
  const needed = types.filter((type) => type.fault?.reason !== 'Missing');
  const forbidden = needed.filter((type) => type.fault?.reason === 'Forbidden');
  if (forbidden.length > 0) return forbiddenOf(forbidden, needed, mend);
  const missing = needed.filter(({ isWhole }) => !isWhole);
  const failing = needed.find((type) => type.fault !== undefined)?.fault ?? fault;
  if (needed.length > 0 && missing.length === 0) {
    if (failing === undefined)
      return {
        summary: 'Synced',
        status: 'True',
        reason: 'Synced',
        message: syncedText(needed, mend) + leftOutText(needed),
      };
    return notIndexed('Stale', 'Stale', `what is there may be old: ${faultText(needed, state)}`);
  }
  if (failing !== undefined) {
    const hasRows = needed.some(({ isWhole }) => isWhole);
    return notIndexed(hasRows ? 'Stale' : '-', failing.reason, faultText(needed, state));
  }
  const done = needed.length === 0 ? 0 : needed.reduce((sum, type) => sum + doneOf(type), 0) / needed.length;
  const percent = Math.floor(done * 10) * 10;
  const message = `${needed.length - missing.length} of ${needed.length} types are there`;
  return notIndexed(`Syncing ${percent} %`, 'Syncing', message);
}

function notIndexed(summary: string, reason: string, message: string): Indexed {
  return { summary, status: 'False', reason, message };
}

function forbiddenOf(forbidden: readonly TypeState[], all: readonly TypeState[], mend: string): Indexed {
  const who = /forbidden to (.*); an administrator/.exec(forbidden[0]!.fault!.message)?.[1] ?? 'portcullis:index';
  const message = `${forbidden.length} of ${all.length} types are forbidden to ${who}; an administrator of the cluster runs: ${mend}`;
  return notIndexed('Forbidden', 'Forbidden', message);
}

function syncedText(types: readonly TypeState[], mend: string): string {
  const own = types.filter(({ readAs }) => readAs === ownCredential).length;
  if (own === 0) return `${types.length} types are followed as portcullis:index`;
  const which = own === types.length ? `${own} types are` : `${types.length} types are followed, ${own} of them`;
  return `${which} read as ${ownCredential}; for reading as portcullis:index an administrator runs: ${mend}`;
}

/**
 * A text that says that some objects cannot be stored in the index. It names none of them, since everybody who may see
 * the cluster can read it; lists name one in a Warning for users who may see it.
 */
function leftOutText(types: readonly TypeState[]): string {
  const isLacking = types.some(({ leftOut }) => leftOut !== undefined);
  return isLacking ? '; objects that the index cannot store are left out, a Warning of a list names one' : '';
}

function faultText(types: readonly TypeState[], { fault }: ClusterState): string {
  if (fault !== undefined) return fault.message;
  const failing = types.flatMap((type) => type.fault?.reason ?? []);
  return `${failing.length} of ${types.length} types cannot be followed now (${[...new Set(failing)].join(', ')})`;
}

/** How much of the type has been listed, from 0 to 1. */
function doneOf({ isWhole, listed }: TypeState): number {
  if (isWhole) return 1;
  return listed === undefined || listed.of === 0 ? 0 : Math.min(1, listed.done / listed.of);
}
