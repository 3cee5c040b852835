// One member's list, opened up to its first item. The head of the merged answer needs missing clusters and columns of
// all members, so every list is read that far first, and no further.
import { GatewayError } from '../../../cache/model/errors.ts';
import type { ClusterSpec } from '../../../cache/model/records.ts';
import type { MemberAnswer } from '../../../routing/members/member-call.ts';
import { membersOf, stringAt } from './item-bytes.ts';
import { ListCutter } from './list-cutter.ts';
import type { ListPart } from './list-cutter.ts';
import type { FanoutMembers, MemberQuestion } from '../members.ts';
import { missingByAnswer, missingByError } from '../missing.ts';
import type { Missing } from '../missing.ts';
import { readColumns } from './table-columns.ts';
import type { Columns } from './table-columns.ts';

/** The outcome of asking one member for its list. */
export type ListOutcome =
  | { readonly kind: 'open'; readonly list: MemberList }
  /** The member does not serve the type, so it has no such objects. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'missing'; readonly missing: Missing };

/** A list that is being read. Its fields are complete when `items` has ended. */
export class MemberList {
  readonly cluster: ClusterSpec;
  readonly #answer: MemberAnswer;
  readonly #cutter: ListCutter;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #fields = new Map<string, Buffer>();
  #ended = false;
  /** Parts that were read but not given out. */
  #held: ListPart[] = [];

  constructor(cluster: ClusterSpec, answer: MemberAnswer) {
    this.cluster = cluster;
    this.#answer = answer;
    this.#cutter = new ListCutter(cluster.name);
    this.#chunks = answer.chunks[Symbol.asyncIterator]();
  }

  /** Reads up to the first item. @throws GatewayError */
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
   * Reads on without giving anything out, to learn whether the whole list has at most so many items and bytes. When it
   * has more, the list cannot be used any further.
   * @throws GatewayError when the member broke off
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

  /** `PodList` or `Table`; '' while it has not come, since it may follow the items. */
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
   * Items or rows as the member wrote them, in groups as its answer brings them.
   * @throws GatewayError when the member broke off
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
    if (done === true) {
      if (!this.#ended) this.#cutter.finish();
      this.#ended = true;
      return undefined;
    }
    const part = this.#cutter.push(value);
    for (const [name, bytes] of part.fields) this.#fields.set(name, bytes);
    return part;
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
 * Asks one member for its list.
 * @throws GatewayError EXPIRED when its continue token or version is too old, so that the whole list must begin again;
 *   HUB_UNAVAILABLE
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

/** The error that makes a client begin its list or watch again. */
export function expired(why: string): GatewayError {
  return new GatewayError('EXPIRED', `the list has to begin again: ${why}`);
}
