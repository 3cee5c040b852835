// Answers one page of a merged list. Nobody knows beforehand how many objects each cluster has, so several clusters are
// asked at the same time, each with the limit of the whole page. When one of these lists has more objects than the page
// has room for, its cluster is asked again with a lower limit. So no page has more objects than its limit.
import { GatewayError } from '../../../model/errors.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import { ListOutput, listAsker } from './list-answer.ts';
import type { ListParts } from './list-answer.ts';
import { expired } from './member-list.ts';
import type { ListOutcome, MemberList } from './member-list.ts';
import { membersAtOnce } from '../members/members.ts';
import { composeVersion, readToken, registrationOf, writeToken } from './tokens.ts';
import type { Position, TokenScope } from './tokens.ts';

/** How many clusters are asked before the headers are sent. The headers can name missing clusters only among these. */
const firstAtOnce = 8;
/**
 * Maximum bytes of a list that are kept in memory while its objects are counted. The cluster of a longer list is asked
 * for it again.
 */
const countedBytes = 4 * 1024 * 1024;

/**
 * Answers one page of at most `limit` objects.
 * @throws GatewayError (rejects) before the headers were sent: BAD_REQUEST for an invalid continue token, EXPIRED when
 * the cluster that the token names was removed or replaced, or an error of the clusters
 */
export async function answerPage(parts: ListParts, clusters: readonly ClusterSpec[], limit: number): Promise<void> {
  const page = new Page(parts, clusters, limit);
  try {
    await page.run();
  } finally {
    page.close();
  }
}

class Page {
  readonly #parts: ListParts;
  readonly #clusters: readonly ClusterSpec[];
  readonly #scope: TokenScope;
  readonly #from: Position | undefined;
  readonly #ask: ReturnType<typeof listAsker>;
  readonly #output: ListOutput;
  /** Lists that were requested in advance, each with the limit in its request, by the cluster's index in #clusters. */
  readonly #ahead = new Map<number, { readonly limit: number; readonly outcome: Promise<ListOutcome> }>();
  readonly #start: number;
  #remaining: number;
  /**
   * All clusters with a lower index than this were asked before the headers were sent; the headers name those of them
   * that are missing.
   */
  #known = 0;

  constructor(parts: ListParts, clusters: readonly ClusterSpec[], limit: number) {
    const { query, state, path } = parts;
    this.#parts = parts;
    this.#clusters = clusters;
    this.#scope = { user: state.user, path, query: query.rest };
    this.#from = query.continueToken === '' ? undefined : readToken(query.continueToken, this.#scope);
    this.#start = this.#from === undefined ? 0 : startOf(clusters, this.#from);
    this.#ask = listAsker(parts);
    this.#output = new ListOutput(parts);
    this.#remaining = limit;
  }

  async run(): Promise<void> {
    const first = await this.#begin();
    let token = '';
    for (let i = first; i < this.#clusters.length && token === ''; i += 1) {
      token = this.#remaining <= 0 ? this.#tokenAt(i, '') : await this.#add(i);
    }
    await this.#output.finish(token, this.#from?.version);
  }

  close(): void {
    const cancel = (outcome: ListOutcome): void => {
      if (outcome.kind === 'open') outcome.list.cancel();
    };
    for (const { outcome } of this.#ahead.values()) outcome.then(cancel, () => {});
  }

  /**
   * Asks clusters until one has a list, then sends the headers.
   * @returns the index of the first cluster to read
   */
  async #begin(): Promise<number> {
    const isFirstPage = this.#from === undefined;
    // When the last page ended in the middle of a cluster's list, this cluster probably fills the next page too. So no
    // other cluster is asked in advance.
    const atOnce = isFirstPage || this.#from?.memberToken === '' ? firstAtOnce : 1;
    for (let i = this.#start; ; i = this.#known) {
      const end = Math.min(i + atOnce, this.#clusters.length);
      this.#askAhead(i, end);
      const outcomes = await Promise.all([...this.#ahead.values()].map(({ outcome }) => outcome));
      this.#parts.writer.signal.throwIfAborted();
      this.#known = end;
      if (end === this.#clusters.length || outcomes.some(({ kind }) => kind === 'open')) {
        this.#output.start(outcomes, !isFirstPage);
        return i;
      }
      for (const outcome of outcomes) this.#output.note(outcome);
      this.#ahead.clear();
    }
  }

  #askAhead(from: number, end: number): void {
    for (let i = from; i < Math.min(end, this.#clusters.length); i += 1) {
      if (this.#ahead.has(i)) continue;
      const memberToken = i === this.#start ? (this.#from?.memberToken ?? '') : '';
      const outcome = this.#ask(this.#clusters[i]!, this.#remaining, memberToken);
      // #add awaits this promise and reports its error. When the page ends before #add comes to it, nobody awaits the
      // promise; without this handler, its rejection would end the process.
      outcome.catch(() => {});
      this.#ahead.set(i, { limit: this.#remaining, outcome });
    }
  }

  /**
   * Writes one cluster's objects.
   * @returns the continue token when the page ends in this cluster, or '' when the page goes on with the next cluster
   */
  async #add(i: number): Promise<string> {
    if (i >= this.#known) this.#askAhead(i, i + membersAtOnce);
    const { limit, outcome: waiting } = this.#ahead.get(i)!;
    const outcome = await waiting;
    this.#parts.writer.signal.throwIfAborted();
    this.#ahead.delete(i);
    // The headers have been sent without naming this cluster. The page therefore ends here: the next page begins with
    // this cluster and names it as missing.
    if (outcome.kind === 'missing') return i < this.#known ? '' : this.#tokenAt(i, '');
    if (outcome.kind === 'absent') return '';
    const list = limit <= this.#remaining ? outcome.list : await this.#fitting(i, outcome.list);
    if (list === undefined) return this.#tokenAt(i, '');
    this.#remaining -= await this.#output.add(list);
    return list.continueToken === '' ? '' : this.#tokenAt(i, list.continueToken);
  }

  /**
   * Returns the cluster's list. When the list has more objects than the page has room for, the cluster is asked again
   * with a lower limit. Undefined when the cluster fails during this.
   */
  async #fitting(i: number, list: MemberList): Promise<MemberList | undefined> {
    try {
      if (await list.fits(this.#remaining, countedBytes)) return list;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return undefined;
    } finally {
      this.#parts.writer.signal.throwIfAborted();
    }
    list.cancel();
    const outcome = await this.#ask(this.#clusters[i]!, this.#remaining);
    return outcome.kind === 'open' ? outcome.list : undefined;
  }

  #tokenAt(i: number, memberToken: string): string {
    const cluster = this.#clusters[i]!;
    const version = this.#from?.version ?? composeVersion(this.#output.versions);
    const position = { cluster: cluster.name, registration: registrationOf(cluster), memberToken, version };
    return writeToken(position, this.#scope);
  }
}

/**
 * Index of the first cluster of a page, among the clusters that the caller may reach now.
 * @throws GatewayError EXPIRED when the cluster in whose list the last page ended was removed or replaced
 */
function startOf(clusters: readonly ClusterSpec[], from: Position): number {
  const found = clusters.findIndex(({ name }) => name >= from.cluster);
  const at = found < 0 ? clusters.length : found;
  const there = clusters[at];
  const isSame = there?.name === from.cluster && registrationOf(there) === from.registration;
  if (from.memberToken !== '' && !isSame) throw expired('the set of clusters has changed');
  return at;
}
