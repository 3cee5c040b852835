// Joins the lists of many clusters into one List or Table, which is streamed in the order of the clusters' names. The
// headers name the clusters whose list is missing. When a cluster fails after the headers were sent, the page ends
// early or the answer is cut, so that the client always notices that objects are missing.
import { listed } from '../../../lib/text/listed.ts';
import { GatewayError } from '../../../model/errors.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import type { Authorized } from '../../../request/exchange.ts';
import type { AnswerWriter } from '../members/answer-writer.ts';
import { memberAccept, memberHeaders } from '../members/accept.ts';
import { markedObject } from './item-bytes.ts';
import { openMemberList } from './member-list.ts';
import type { ListOutcome, MemberList } from './member-list.ts';
import { membersAtOnce } from '../members/members.ts';
import { inTurns } from '../../../lib/concurrency/in-turns.ts';
import type { FanoutMembers } from '../members/members.ts';
import { notServed } from '../../../request/answer/status.ts';
import { errorOfAll, missingAnnotation, missingByError, missingText, warningHeaders } from '../members/missing.ts';
import type { Missing } from '../members/missing.ts';
import { memberPath } from '../members/query.ts';
import type { FanoutQuery } from '../members/query.ts';
import { cellOrder, mergedDefinitions, mergedRow, unionColumns } from './table-columns.ts';
import type { CellOrder, Columns } from './table-columns.ts';
import { composeVersion, isVersion, parseVersion, registrationOf } from './tokens.ts';
import type { Versions } from './tokens.ts';

/**
 * The data with which a request for many clusters is answered: the request, the clusters, and the writer to the client.
 */
export interface ListParts {
  readonly state: Authorized;
  readonly members: FanoutMembers;
  readonly writer: AnswerWriter;
  readonly query: FanoutQuery;
  /** Path of the request on each cluster, for example `/api/v1/pods`. */
  readonly path: string;
}

/**
 * Milliseconds after which a list without a page limit asks no further cluster. Clusters that were asked before may
 * still answer.
 */
const allHeadsMs = 20_000;

/**
 * Makes the function that asks one cluster for its list. For paged lists, `limit` is the page size and `memberToken` is
 * this cluster's own continue token.
 */
export function listAsker({
  state,
  members,
  writer,
  query,
  path,
}: ListParts): (cluster: ClusterSpec, limit?: number, memberToken?: string) => Promise<ListOutcome> {
  const headers = memberHeaders(state.headers, memberAccept(state.headers));
  const versions = versionsOf(query);
  return (cluster, limit, memberToken = '') => {
    const version = typeof versions === 'string' ? versions : versionFor(versions, cluster);
    const added = {
      limit: limit === undefined ? undefined : String(limit),
      continue: memberToken === '' ? undefined : memberToken,
      // A cluster's continue token already contains a resourceVersion; kube-apiserver refuses a request that has both.
      resourceVersion: memberToken !== '' || version === '' ? undefined : version,
    };
    const question = {
      method: 'GET',
      path: memberPath(path, query.rest, added),
      headers,
      longRunning: false,
      signal: writer.signal,
    };
    return openMemberList(members, cluster, question);
  };
}

/**
 * The resourceVersion for each cluster. '' and '0' mean the same in every cluster. Any other text must be a merged
 * resourceVersion, which the gateway made from one resourceVersion of each cluster.
 * @throws GatewayError BAD_REQUEST for any other text
 */
function versionsOf({ resourceVersion }: FanoutQuery): Versions | string {
  return resourceVersion === '' || resourceVersion === '0' ? resourceVersion : parseVersion(resourceVersion);
}

function versionFor(versions: Versions, cluster: ClusterSpec): string {
  const known = versions.get(cluster.name);
  return known?.registration === registrationOf(cluster) ? known.version : '';
}

/**
 * Answers a list without a page limit.
 * @throws GatewayError (rejects) before the headers were sent; an error after that cuts the answer
 */
export async function answerWholeList(parts: ListParts, clusters: readonly ClusterSpec[]): Promise<void> {
  const ask = listAsker(parts);
  const untilMs = performance.now() + allHeadsMs;
  const outcomes = await inTurns(clusters, membersAtOnce, (cluster) => {
    if (performance.now() < untilMs) return ask(cluster);
    const late = new GatewayError('MEMBER_TIMEOUT', 'it was not asked: the clusters before it took too long');
    return { kind: 'missing' as const, missing: missingByError(cluster.name, late) };
  });
  parts.writer.signal.throwIfAborted();
  const output = new ListOutput(parts);
  output.start(outcomes);
  for (const outcome of outcomes) if (outcome.kind === 'open') await output.add(outcome.list);
  await output.finish('');
}

/** Writes the merged List or Table to the client, one cluster's list after the other. */
export class ListOutput {
  readonly #parts: ListParts;
  readonly #missing: Missing[] = [];
  readonly #versions = new Map<string, { version: string; registration: string }>();
  #absent = 0;
  #shape: { readonly isTable: boolean; readonly columns: Columns } | undefined;
  #ends: { readonly kind: string; readonly apiVersion: string; readonly isWritten: boolean } | undefined;
  #isFirst = true;

  constructor(parts: ListParts) {
    this.#parts = parts;
  }

  get started(): boolean {
    return this.#shape !== undefined;
  }

  /** resourceVersions of the clusters whose lists have been written so far. */
  get versions(): Versions {
    return this.#versions;
  }

  /**
   * Remembers that a cluster's list is missing, or that the cluster does not serve the type. Call it only before the
   * headers are sent.
   */
  note(outcome: ListOutcome): void {
    if (outcome.kind === 'missing') this.#missing.push(outcome.missing);
    if (outcome.kind === 'absent') this.#absent += 1;
  }

  /**
   * Sends the headers. Call it only when it is known which clusters are missing.
   * @param emptyIsFine true for a page after the first, which may have no list
   * @throws GatewayError or IncompleteAnswer when no cluster has a list; IncompleteAnswer when a list is missing and
   * the client asked for `partial=false`
   */
  start(outcomes: readonly ListOutcome[], emptyIsFine = false): void {
    for (const outcome of outcomes) this.note(outcome);
    const lists = outcomes.flatMap((outcome) => (outcome.kind === 'open' ? [outcome.list] : []));
    const { query, writer } = this.#parts;
    const missing = this.#missing;
    if (!query.partial && missing.length > 0) throw new IncompleteAnswer(missing);
    const [first] = lists;
    if (first === undefined && !emptyIsFine) {
      if (missing.length > 0) throw new IncompleteAnswer(missing, errorOfAll(missing));
      if (this.#absent > 0) throw notServed();
    }
    const isTable = first?.isTable ?? false;
    const columns = unionColumns(lists.filter((list) => list.isTable).map((list) => list.columns));
    this.#shape = { isTable, columns };
    writer.head(200, warningHeaders(missing));
    this.#ends = { kind: first?.kind ?? 'List', apiVersion: first?.apiVersion ?? 'v1', isWritten: first?.kind !== '' };
  }

  async #open(): Promise<void> {
    const { isTable, columns } = this.#shape!;
    const { kind, apiVersion, isWritten } = this.#ends!;
    const type = isWritten ? `"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},` : '';
    const definitions = isTable ? `"columnDefinitions":${mergedDefinitions(columns)},` : '';
    await this.#parts.writer.write(Buffer.from(`{${type}${definitions}"${isTable ? 'rows' : 'items'}":[`));
  }

  /**
   * Writes all items of one cluster's list.
   * @returns the number of items
   * @throws GatewayError (rejects) when the cluster cut its answer or sent something that cannot be merged
   */
  async add(list: MemberList): Promise<number> {
    const { isTable, columns } = this.#shape!;
    const { name } = list.cluster;
    if (list.isTable !== isTable) {
      throw new GatewayError(
        'MEMBER_BAD_RESPONSE',
        `cluster "${name}" answered in another format than the other clusters`,
        {
          cluster: name,
        },
      );
    }
    const order = isTable ? cellOrder(list.columns, columns) : undefined;
    let count = 0;
    for await (const items of list.items()) {
      count += items.length;
      await this.#write(items, name, order);
    }
    const version = list.resourceVersion;
    if (isVersion(version)) this.#versions.set(name, { version, registration: registrationOf(list.cluster) });
    if (!this.#ends!.isWritten) this.#ends = { kind: list.kind, apiVersion: list.apiVersion, isWritten: false };
    return count;
  }

  async #write(items: readonly Buffer[], cluster: string, order: CellOrder): Promise<void> {
    if (items.length === 0) return;
    if (this.#isFirst) await this.#open();
    const { isTable } = this.#shape!;
    const pieces: Buffer[] = [];
    try {
      for (const item of items) {
        if (!this.#isFirst) pieces.push(comma);
        this.#isFirst = false;
        pieces.push(isTable ? mergedRow(item, order, { cluster }) : markedObject(item, { cluster }));
      }
    } catch (error) {
      throw new GatewayError('MEMBER_BAD_RESPONSE', 'it sent an object that cannot be read', { cluster, cause: error });
    }
    await this.#parts.writer.write(Buffer.concat(pieces));
  }

  /**
   * Writes the end of the merged document.
   * @param version resourceVersion of the whole list; a later page repeats that of the first page
   */
  async finish(continueToken: string, version: string = composeVersion(this.#versions)): Promise<void> {
    const { writer } = this.#parts;
    if (this.#isFirst) await this.#open();
    const { kind, apiVersion, isWritten } = this.#ends!;
    const missing = this.#missing;
    const metadata = {
      resourceVersion: version,
      ...(continueToken === '' ? {} : { continue: continueToken }),
      ...(missing.length === 0 ? {} : { annotations: { [missingAnnotation]: missingText(missing) } }),
    };
    const type = isWritten ? '' : `"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
    await writer.write(Buffer.from(`],${type}"metadata":${JSON.stringify(metadata)}}\n`));
    writer.end();
  }
}

const comma = Buffer.from(',');

/**
 * Thrown when no cluster has answered, or when a cluster is missing and the client asked for `partial=false`. The
 * Status that the client gets names every missing cluster.
 */
export class IncompleteAnswer extends Error {
  readonly missing: readonly Missing[];
  readonly error: GatewayError;

  constructor(missing: readonly Missing[], error?: GatewayError) {
    super('incomplete');
    this.missing = missing;
    const names = missing.map(({ cluster }) => cluster);
    const named = listed(names, 20);
    this.error =
      error ??
      new GatewayError(
        'MEMBER_UNAVAILABLE',
        `partial=false was requested, but these clusters did not answer: ${named}`,
      );
  }
}
