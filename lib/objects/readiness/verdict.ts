// What is said of an object's readiness, and how it is said that a field of the object cannot be read.

/**
 * What the status of an object says. `waiting` may become `ready` later; `failed` does not without a change. `reason`
 * is a text for people.
 */
export type Readiness = { readonly state: 'ready' } | { readonly state: 'waiting' | 'failed'; readonly reason: string };

/** Characters of a reason that are told; authors of objects can write more. */
const mostCharacters = 1000;

/** An object that does what it was applied for. */
export const ready: Readiness = { state: 'ready' };

/** An object that is not ready yet. */
export const waiting = (reason: string): Readiness => ({ state: 'waiting', reason: cut(reason) });

/** An object that will not become ready without a change. */
export const failed = (reason: string): Readiness => ({ state: 'failed', reason: cut(reason) });

/** A field has another form than it must have. The message names the field; whoever judges the object waits. */
export class Unreadable extends Error {}

function cut(reason: string): string {
  return reason.length > mostCharacters ? `${reason.slice(0, mostCharacters)}…` : reason;
}
