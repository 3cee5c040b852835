// What is known of one request after each step of chain.ts. Each stage has all of the stages before it, so a step can
// only use what an earlier step has established.
import type { AnswerDependencies } from './answer-dependencies.ts';
import type { Answer } from './answer.ts';
import type { Question } from './question.ts';
import type { IndexRequest } from './request.ts';

/** One step of the chain. */
export type Step<In, Out> = (state: In, dependencies: AnswerDependencies) => Out | Promise<Out>;

/** After `read` and `settle`: what is asked. @param Q of which kind */
export interface Asked<Q = Question> {
  readonly request: IndexRequest;
  readonly question: Q;
}

/** After `rights`: what the caller may see. @param S as the kind has it; undefined where nothing is asked of rights */
export interface Seen<Q = Question, S = unknown> extends Asked<Q> {
  readonly sight: S;
}

/** After `plan`: what the store is asked. @param P as the kind has it, or an EarlyAnswer */
export interface Planned<Q = Question, S = unknown, P = unknown> extends Seen<Q, S> {
  readonly plan: P;
}

/** After `fetch`: what the store said. @param F as the kind has it, or an EarlyAnswer */
export interface Fetched<Q = Question, S = unknown, P = unknown, F = unknown> extends Planned<Q, S, P> {
  readonly found: F;
}

/** After `form`: what is sent. */
export interface Formed {
  readonly request: IndexRequest;
  readonly answer: Answer;
}
