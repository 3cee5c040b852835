// The four ways an answer leaves, as data for `steps/send.ts`.
import type { GatewayError } from '../../cache/model/errors.ts';
import type { Page } from '../stores/store.ts';
import type { WatchQuestion } from '../watch/watch-question.ts';
import type { Warning } from './answer-body.ts';
import type { RowDocument } from './row-stream.ts';

/** An answer that is at hand whole. */
export interface WholeAnswer {
  readonly kind: 'whole';
  readonly body: Buffer;
  readonly warnings: readonly Warning[];
  readonly contentType?: string;
  /** 200 unless said otherwise. */
  readonly status?: number;
  /** More headers, names and values in turn. */
  readonly headers?: readonly string[];
  /** What the answer reports; noted as the outcome of the request. */
  readonly error?: GatewayError;
}

/** Rows that are read while they are sent. */
export interface RowsAnswer {
  readonly kind: 'rows';
  readonly document: RowDocument;
  readonly page: Page;
  readonly warnings: readonly Warning[];
}

/** Events, until one side ends it. */
export interface WatchAnswer {
  readonly kind: 'watch';
  readonly watch: WatchQuestion;
}

/** What a cluster itself says to the caller. */
export interface RelayedAnswer {
  readonly kind: 'relayed';
  /** The first that can be asked answers. */
  readonly clusters: readonly string[];
  /** As the cluster knows it. */
  readonly path: string;
  /** With `?`, or ''. */
  readonly query: string;
}

export type Answer = WholeAnswer | RowsAnswer | WatchAnswer | RelayedAnswer;

/** A plan or a fetch that is already the answer. The steps behind it leave it as it is. */
export class EarlyAnswer {
  readonly answer: Answer;

  constructor(answer: Answer) {
    this.answer = answer;
  }
}

/** A JSON document as an answer. */
export function jsonAnswer(value: unknown, warnings: readonly Warning[] = []): WholeAnswer {
  return { kind: 'whole', body: Buffer.from(`${JSON.stringify(value)}\n`), warnings };
}
