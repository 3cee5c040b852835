// A watch on the index: the rows there are, then every change of them, each judged by the rights of its moment. Easy to
// get wrong: rights are read after the changes they decide about, or a change that came with the loss of a right would
// still be told.
import { GatewayError } from '../../cache/model/errors.ts';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import { beginBody, ClientGone, errorEvent } from '../api/answer-body.ts';
import type { AnswerBody } from '../api/answer-body.ts';
import type { IndexRequest, StatusJson } from '../api/request.ts';
import { scopeAllows } from '../api/visible.ts';
import type { IndexRights, Visible } from '../api/visible.ts';
import type { ListQuery } from '../query/list-query.ts';
import type { RowKey } from '../query/match.ts';
import type { RowScope } from '../rights/scope.ts';
import type { IndexStore, LogEntry, RowRead } from '../stores/store.ts';
import type { TypeInfo, TypeKey } from '../types.ts';
import { changeOf, identityObject, typeOf } from './change.ts';
import type { Change } from './change.ts';
import type { ChangeFeed } from './feed.ts';
import { rightsEvents } from './rights-change.ts';

/** What a watch needs of the rest. */
export interface WatchDependencies {
  readonly store: Pick<IndexStore, 'list' | 'count' | 'resourceVersion'>;
  readonly feed: ChangeFeed;
  readonly openStreams: OpenStreams;
  readonly bookmarkIntervalMs: number;
  readonly rightsPollMs: number;
  readonly statusJson: StatusJson;
  readonly rights: Pick<IndexRights, 'onChange'>;
  onError(error: unknown): void;
}

/** An object of an event, and where it is from. */
export type EventRow = Pick<RowRead, 'raw' | 'type' | 'incarnation' | 'cluster'>;

/** Objects as the watcher wants to have them. */
export interface EventForm {
  object(row: EventRow): Buffer;
  bookmark(resourceVersion: string, annotations: Readonly<Record<string, string>> | undefined): Buffer;
}

/** What is watched. */
export interface WatchQuestion {
  readonly query: ListQuery;
  readonly matches: (raw: Uint8Array, key: RowKey) => boolean;
  readonly types: readonly TypeInfo[];
  readonly keys: readonly TypeKey[];
  readonly form: EventForm;
  /** Undefined: begin with the rows there are. */
  readonly after: string | undefined;
  /**
   * Rights under which the client got to `after`, if they were others than these; absent where it has not got anywhere.
   * @throws GatewayError (rejects) EXPIRED when it has to list again
   */
  readonly before: ((scopeNow: RowScope) => Promise<RowScope | undefined>) | undefined;
  /** Say when the rows there are were told. */
  readonly marksInitialEnd: boolean;
  readonly bookmarks: boolean;
  /** Undefined: as long as the client likes. */
  readonly timeoutMs: number | undefined;
  /** Rights of now. @throws GatewayError (rejects) when they cannot be decided */
  readonly visible: () => Promise<Visible>;
  /** The client is told up to where it has got, and under which rights. */
  readonly onReached: (position: string, scope: RowScope) => void;
}

/** Events are collected up to this size before they are written. */
const writeBytes = 64 * 1024;

/** Watches until one side ends it. @throws GatewayError (rejects) only while nothing was sent */
export async function watchRows(
  request: IndexRequest,
  question: WatchQuestion,
  dependencies: WatchDependencies,
): Promise<void> {
  const { scope, warnings } = await question.visible();
  const before = await question.before?.(scope);
  const page = question.after === undefined ? await dependencies.store.list(question.query, scope, {}) : undefined;
  let wake = (): void => undefined;
  let isDirty = true;
  const poke = (): void => {
    isDirty = true;
    wake();
  };
  const state = { rightsChanged: before !== undefined, bookmarkDue: false, timeUp: false };
  const body = beginBody(request, warnings, dependencies.openStreams, { kind: 'watch', onOver: poke });
  const on = (name: keyof typeof state) => (): void => {
    state[name] = true;
    poke();
  };
  const timeout = question.timeoutMs === undefined ? undefined : setTimeout(on('timeUp'), question.timeoutMs);
  const ticking = question.bookmarks ? setInterval(on('bookmarkDue'), dependencies.bookmarkIntervalMs) : undefined;
  const looking = setInterval(on('rightsChanged'), dependencies.rightsPollMs);
  const ends = [
    dependencies.feed.onCommit(poke),
    dependencies.rights.onChange(on('rightsChanged')),
    () => clearTimeout(timeout),
    () => clearInterval(ticking),
    () => clearInterval(looking),
  ];
  const idle = async (): Promise<void> => {
    if (!isDirty) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    isDirty = false;
  };
  const run = new WatchRun(body, question, dependencies, before ?? scope, question.after ?? page!.resourceVersion);
  try {
    if (page !== undefined) await run.tellRows(page.chunks);
    if (question.marksInitialEnd) await run.bookmark({ 'k8s.io/initial-events-end': 'true' });
    while (!body.isOver) {
      if (state.rightsChanged) {
        state.rightsChanged = false;
        await run.followRights();
      }
      const isMore = await run.tellChanges();
      if (state.timeUp || state.bookmarkDue) {
        state.bookmarkDue = false;
        if (question.bookmarks) await run.bookmark();
      }
      if (state.timeUp) break;
      if (!isMore) await idle();
    }
    body.end();
  } catch (error) {
    await fail(error, body, request, dependencies);
  } finally {
    for (const end of ends) end();
  }
}

async function fail(
  error: unknown,
  body: AnswerBody,
  request: IndexRequest,
  dependencies: WatchDependencies,
): Promise<void> {
  if (error instanceof ClientGone || body.isOver) return;
  request.outcome.error ??= error;
  if (!(error instanceof GatewayError)) dependencies.onError(error);
  const told = error instanceof GatewayError ? error : new GatewayError('INTERNAL', 'the watch failed; watch again');
  try {
    await body.write(errorEvent(dependencies.statusJson(told)));
  } catch {
    // It has gone meanwhile.
  }
  body.end();
}

/** One watcher: how far it was told, and under which rights. */
class WatchRun {
  readonly #body: AnswerBody;
  readonly #question: WatchQuestion;
  readonly #dependencies: WatchDependencies;
  #scope: RowScope;
  #position: string;
  #lines: Buffer[] = [];
  #bytes = 0;

  constructor(
    body: AnswerBody,
    question: WatchQuestion,
    dependencies: WatchDependencies,
    scope: RowScope,
    position: string,
  ) {
    this.#body = body;
    this.#question = question;
    this.#dependencies = dependencies;
    this.#scope = scope;
    this.#position = position;
  }

  async tellRows(chunks: AsyncIterable<readonly RowRead[]>): Promise<void> {
    for await (const rows of chunks) {
      for (const row of rows) this.#add('ADDED', this.#question.form.object(row));
      await this.#flush();
    }
    if (this.#question.bookmarks && !this.#question.marksInitialEnd) await this.bookmark();
  }

  /** @returns whether more is there to be told at once */
  async tellChanges(): Promise<boolean> {
    const { entries, reached, isMore } = await this.#dependencies.feed.read(this.#position, this.#question.keys);
    const changes = entries.flatMap((entry) => {
      const change = this.#changeOf(entry, this.#scope);
      return change === undefined ? [] : [{ entry, change }];
    });
    if (changes.length > 0 && (await this.followRights())) return true;
    for (const { entry, change } of changes) await this.#tell(change.type, { ...entry, raw: change.raw });
    this.#position = reached;
    if (changes.length > 0) await this.#flushEvents();
    return isMore;
  }

  /** @returns whether the rights were others than those known, and all was told that follows from it */
  async followRights(): Promise<boolean> {
    const { scope: after } = await this.#question.visible();
    if (after.digest === this.#scope.digest) return false;
    const { query, keys, types } = this.#question;
    const { events, position } = await rightsEvents(this.#dependencies.store, this.#dependencies.feed, {
      query,
      types: keys,
      before: this.#scope,
      after,
      position: this.#position,
      wasTold: (entry) => entry.before !== undefined && this.#question.matches(entry.before, entry),
    });
    for (const event of events) {
      if (event.kind === 'entry') {
        const change = this.#changeOf(event.entry, after);
        if (change !== undefined) await this.#tell(change.type, { ...event.entry, raw: change.raw });
      } else if (event.kind === 'gained') {
        await this.#tell('ADDED', event.row);
      } else {
        const type = typeOf(types, event.row);
        if (type === undefined) continue;
        // Made in the version that is asked for, so it is nobody's to be rewritten.
        await this.#tell('DELETED', { ...event.row, incarnation: '', raw: identityObject(type, event.row, position) });
      }
    }
    this.#scope = after;
    this.#position = position;
    if (events.length > 0) await this.#flushEvents();
    return true;
  }

  async bookmark(annotations?: Readonly<Record<string, string>>): Promise<void> {
    this.#question.onReached(this.#position, this.#scope);
    this.#add('BOOKMARK', this.#question.form.bookmark(this.#position, annotations));
    await this.#flush();
  }

  #changeOf(entry: LogEntry, scope: RowScope): Change | undefined {
    return scopeAllows(scope, entry) ? changeOf(entry, this.#question.matches) : undefined;
  }

  async #tell(type: Change['type'], row: EventRow): Promise<void> {
    this.#add(type, this.#question.form.object(row));
    if (this.#bytes > writeBytes) await this.#flush();
  }

  /** Objects keep the member's resourceVersion, so only a bookmark tells a client where to go on. */
  async #flushEvents(): Promise<void> {
    if (this.#question.bookmarks) await this.bookmark();
    else await this.#flush();
  }

  #add(type: string, object: Buffer): void {
    const line = Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, lineEnd]);
    this.#lines.push(line);
    this.#bytes += line.length;
  }

  async #flush(): Promise<void> {
    if (this.#lines.length === 0) return;
    const lines = Buffer.concat(this.#lines);
    this.#lines = [];
    this.#bytes = 0;
    await this.#body.write(lines);
  }
}

const lineEnd = Buffer.from('}\n');
