// The results of judging whether an object is ready, and the error for a field of the object that cannot be read.

import { shortened } from '../../text/shortened.ts';

/**
 * Whether an object is ready. `waiting`: it may become ready later. `failed`: it will not without a change. `reason` is
 * a text for people.
 */
export type Readiness = { readonly state: 'ready' } | { readonly state: 'waiting' | 'failed'; readonly reason: string };

/** Maximum length of a reason in characters; reasons may quote longer texts from objects. */
const mostCharacters = 1000;

/** The result for an object that is ready. */
export const ready: Readiness = { state: 'ready' };

/** Makes the result for an object that is not ready yet. */
export const waiting = (reason: string): Readiness => ({ state: 'waiting', reason: shortened(reason, mostCharacters) });

/** Makes the result for an object that will not become ready without a change. */
export const failed = (reason: string): Readiness => ({ state: 'failed', reason: shortened(reason, mostCharacters) });

/** A field has an unexpected type. The message names the field; the object then counts as `waiting`. */
export class Unreadable extends Error {}
