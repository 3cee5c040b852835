// The types of what is known about a request after each step of ../chain/chain.ts. Each type extends the one before, so
// a step can only use what earlier steps have found.
import type { Question } from './question.ts';
import type { IndexRequest } from '../request/request.ts';

/** After `read`: the request as it was understood. @param Q its kind */
export interface Asked<Q = Question> {
  readonly request: IndexRequest;
  readonly question: Q;
}

/** After `rights`: what the caller may see. @param S depends on the kind; undefined when the kind needs no rights */
export interface Authorized<Q = Question, S = unknown> extends Asked<Q> {
  readonly visibility: S;
}

/** After `plan`: what the index store will be asked. @param P depends on the kind, or an EarlyAnswer */
export interface Planned<Q = Question, S = unknown, P = unknown> extends Authorized<Q, S> {
  readonly plan: P;
}

/** After `fetch`: what the index store returned. @param F depends on the kind, or an EarlyAnswer */
export interface Fetched<Q = Question, S = unknown, P = unknown, F = unknown> extends Planned<Q, S, P> {
  readonly found: F;
}
