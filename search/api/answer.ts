// The kinds of answers. ../chain/send.ts sends them.
import type { GatewayError } from '../../model/errors.ts';
import type { Page } from '../../store/store.ts';
import type { WatchQuestion } from '../watch/watch-question.ts';
import type { Warning } from '../answer/answer-body.ts';
import type { RowDocument } from '../answer/row-stream.ts';
import type { EveryCluster } from '../request/request.ts';

/** An answer whose whole body is in memory. */
export interface WholeAnswer {
  readonly kind: 'whole';
  readonly body: Buffer;
  readonly warnings: readonly Warning[];
  readonly contentType?: string;
  /** HTTP status; default 200. */
  readonly status?: number;
  /** Further headers, as names and values in turn. */
  readonly headers?: readonly string[];
  /** The error that the answer reports, for audit and metrics. */
  readonly error?: GatewayError;
}

/** An answer whose rows are read from the index store while they are sent. */
export interface RowsAnswer {
  readonly kind: 'rows';
  readonly document: RowDocument;
  readonly page: Page;
  readonly warnings: readonly Warning[];
}

/** A watch: events that are sent until client or gateway ends it. */
export interface WatchAnswer {
  readonly kind: 'watch';
  readonly watch: WatchQuestion;
}

/** The answer of a member cluster, requested as the caller and passed on unchanged. */
export interface RelayedAnswer {
  readonly kind: 'relayed';
  /** Clusters to try in this order. The first one that answers is used. */
  readonly clusters: readonly string[];
  /** The path on the member cluster. */
  readonly path: string;
  /** The query string with its leading `?`; '' when there is none. */
  readonly query: string;
}

/** An answer that is joined from the answers of all clusters, which are asked as the caller. */
export interface LiveAnswer extends EveryCluster {
  readonly kind: 'live';
  /** What the client gets when the caller may ask none of the clusters. */
  readonly otherwise: WholeAnswer | GatewayError;
}

export type Answer = WholeAnswer | RowsAnswer | WatchAnswer | RelayedAnswer | LiveAnswer;

/** Returned by `plan` or `fetch` when the answer is already known. The later steps then do nothing but send it. */
export class EarlyAnswer {
  readonly answer: Answer;

  constructor(answer: Answer) {
    this.answer = answer;
  }
}

/** Makes a JSON answer of any value, with warnings for its headers. */
export function jsonAnswer(value: unknown, warnings: readonly Warning[] = []): WholeAnswer {
  return { kind: 'whole', body: Buffer.from(`${JSON.stringify(value)}\n`), warnings };
}
