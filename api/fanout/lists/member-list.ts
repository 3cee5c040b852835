// The list of one cluster. Before the merged answer can begin, the gateway must know which clusters are missing and the
// Table columns of all clusters. So every list is read up to its first item at first, and its items later.
import { isUtf8 } from 'node:buffer';
import { malformed, MalformedAnswer } from '../../../lib/json/json-scan.ts';
import { ListCutter, type ListPart } from '../../../lib/json/list-cutter.ts';
import { GatewayError } from '../../../model/errors.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import type { MemberAnswer } from '../../../routing/members/member-call.ts';
import { membersOf, stringAt } from './item-bytes.ts';
import type { FanoutMembers, MemberQuestion } from '../members/members.ts';
import { missingByAnswer, missingByError } from '../members/missing.ts';
import type { Missing } from '../members/missing.ts';
import { readColumns } from './table-columns.ts';
import type { Columns } from './table-columns.ts';

/** The result of asking one cluster for its list. */
export type ListOutcome =
  | { readonly kind: 'open'; readonly list: MemberList }
  /** The cluster does not serve the requested type, so it has no objects of the type. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'missing'; readonly missing: Missing };

/**
 * The list of one cluster while it is read from the network. Fields such as `kind` may be incomplete until `items` has
 * ended.
 */
export class MemberList {
  readonly cluster: ClusterSpec;
  readonly #answer: MemberAnswer;
  readonly #cutter = new ListCutter();
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #fields = new Map<string, Buffer>();
  #ended = false;
  /** Items that have been read from the network but that `items` has not yet returned. */
  #held: ListPart[] = [];

  constructor(cluster: ClusterSpec, answer: MemberAnswer) {
    this.cluster = cluster;
    this.#answer = answer;
    this.#chunks = answer.chunks[Symbol.asyncIterator]();
  }

  /**
   * Reads up to the first item.
   * @throws GatewayError (rejects) when the cluster cuts its answer or sends something that is not a list
   */
  async open(): Promise<void> {
    for (;;) {
      const part = await this.#next();
      if (part === undefined) return;
      if (part.begun) {
        this.#held.push(part);
        return;
      }
    }
  }

  /**
   * Whether the whole list has at most `maxItems` items and `maxBytes` bytes. The list is read to find this out, and
   * the items read are kept. After false, the list must not be used any more, because only part of it was read.
   * @throws GatewayError (rejects) when the cluster cut its answer
   */
  async fits(maxItems: number, maxBytes: number): Promise<boolean> {
    let items = 0;
    let bytes = 0;
    for (let part = this.#held[0]; part !== undefined; part = await this.#next()) {
      if (part !== this.#held[0]) this.#held.push(part);
      items += part.items.length;
      for (const item of part.items) bytes += item.length;
      if (items > maxItems || bytes > maxBytes) return false;
    }
    return this.continueToken === '';
  }

  get isTable(): boolean {
    return this.#text('kind') === 'Table' || this.#fields.has('columnDefinitions');
  }

  /** `PodList` or `Table`; '' until the field has been read. In the answer, this field may come after the items. */
  get kind(): string {
    return this.#text('kind');
  }

  get apiVersion(): string {
    return this.#text('apiVersion');
  }

  get columns(): Columns {
    const bytes = this.#fields.get('columnDefinitions');
    return bytes === undefined ? { names: [], definitions: [] } : readColumns(bytes);
  }

  get resourceVersion(): string {
    return this.#metadata('resourceVersion');
  }

  get continueToken(): string {
    return this.#metadata('continue');
  }

  /**
   * Items or rows as the cluster wrote them, in groups as they arrive.
   * @throws GatewayError when the cluster cut its answer
   */
  async *items(): AsyncGenerator<readonly Buffer[], void, undefined> {
    for (let held = this.#held.shift(); held !== undefined; held = this.#held.shift()) yield held.items;
    for (;;) {
      const part = await this.#next();
      if (part === undefined) return;
      if (part.items.length > 0) yield part.items;
    }
  }

  cancel(): void {
    this.#answer.cancel();
  }

  async #next(): Promise<ListPart | undefined> {
    const { done, value } = await this.#chunks.next();
    try {
      if (done === true) {
        if (!this.#ended) this.#cutter.finish();
        this.#ended = true;
        return undefined;
      }
      const part = this.#cutter.push(value);
      if (!part.items.every(isUtf8)) throw malformed();
      for (const [name, bytes] of part.fields) this.#fields.set(name, bytes);
      return part;
    } catch (error) {
      if (!(error instanceof MalformedAnswer)) throw error;
      const message = `it sent a list that cannot be read: ${error.message}`;
      throw new GatewayError('MEMBER_BAD_RESPONSE', message, { cluster: this.cluster.name });
    }
  }

  #text(field: string): string {
    const bytes = this.#fields.get(field);
    return bytes === undefined ? '' : (stringAt(bytes, { start: 0, end: bytes.length }) ?? '');
  }

  #metadata(key: string): string {
    const bytes = this.#fields.get('metadata');
    return bytes === undefined ? '' : (stringAt(bytes, membersOf(bytes, 0).get(key)) ?? '');
  }
}

/**
 * Asks one cluster for its list and reads it up to its first item.
 * @throws GatewayError (rejects) EXPIRED when the continue token or resourceVersion is too old, so that the client must
 * list again from the start; HUB_UNAVAILABLE when the hub cannot decide what the caller may do
 */
export async function openMemberList(
  members: FanoutMembers,
  cluster: ClusterSpec,
  question: MemberQuestion,
): Promise<ListOutcome> {
  let list: MemberList | undefined;
  try {
    const answer = await members.ask(cluster, question);
    if (answer.status === 404) {
      answer.cancel();
      return { kind: 'absent' };
    }
    if (answer.status !== 200) {
      const missing = await missingByAnswer(cluster.name, answer);
      if (missing.code === 410) throw expired(missing.message);
      return { kind: 'missing', missing };
    }
    list = new MemberList(cluster, answer);
    await list.open();
    return { kind: 'open', list };
  } catch (error) {
    list?.cancel();
    if (error instanceof GatewayError && error.code === 'EXPIRED') throw error;
    return { kind: 'missing', missing: missingByError(cluster.name, error) };
  }
}

/** The error with status 410, after which clients begin their list or watch again. */
export function expired(why: string): GatewayError {
  return new GatewayError('EXPIRED', `list again from the beginning: ${why}`);
}
