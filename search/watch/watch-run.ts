// One watch while it runs: reads rows and changes, judges each by the rights of its moment, and writes events. Rights
// are read after the changes they decide about: otherwise a change that came together with the loss of a right would be
// sent.
import type { AnswerBody } from '../api/answer-body.ts';
import { scopeAllows } from '../api/visible.ts';
import type { RowScope } from '../rights/scope.ts';
import type { LogEntry, RowRead } from '../stores/store.ts';
import { changeOf, identityObject, typeOf } from './change.ts';
import type { Change } from './change.ts';
import { rightsEvents, type RightsEvents } from './rights-change.ts';
import type { EventRow, WatchDependencies, WatchQuestion } from './watch-question.ts';

/** Events are collected up to this size before they are written. */
const writeBytes = 64 * 1024;
const lineEnd = Buffer.from('}\n');

/** One watcher: how far its events have come, and under which rights. */
export class WatchRun {
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

  /** The rows there are. */
  async sendRows(chunks: AsyncIterable<readonly RowRead[]>): Promise<void> {
    for await (const rows of chunks) {
      for (const row of rows) this.#add('ADDED', this.#question.form.object(row));
      await this.#flush();
    }
    if (this.#question.bookmarks && !this.#question.marksInitialEnd) await this.bookmark();
  }

  /** @returns whether more can be sent at once */
  async sendChanges(): Promise<boolean> {
    const { entries, reached, isMore } = await this.#dependencies.feed.read(this.#position, this.#question.keys);
    const changes = entries.flatMap((entry) => {
      const change = this.#changeOf(entry, this.#scope);
      return change === undefined ? [] : [{ entry, change }];
    });
    if (changes.length > 0 && (await this.followRights())) return true;
    for (const { entry, change } of changes) await this.#send(change.type, { ...entry, raw: change.raw });
    this.#position = reached;
    if (changes.length > 0) await this.#flushEvents();
    return isMore;
  }

  /** @returns whether the rights have changed; then all that follows from it was sent */
  async followRights(): Promise<boolean> {
    let after = await this.#question.visible();
    if (after.digest === this.#scope.digest) return false;
    let found = await this.#eventsUnder(after);
    // Rights that changed while these rows were read decide about them.
    for (let now; (now = await this.#question.visible(found.rightsVersion)).digest !== after.digest; after = now)
      found = await this.#eventsUnder(now);
    const { events, position } = found;
    const { types } = this.#question;
    for (const event of events) {
      if (event.kind === 'entry') {
        const change = this.#changeOf(event.entry, after);
        if (change !== undefined) await this.#send(change.type, { ...event.entry, raw: change.raw });
      } else if (event.kind === 'gained') {
        await this.#send('ADDED', event.row);
      } else {
        const type = typeOf(types, event.row);
        if (type === undefined) continue;
        // It is made in the version that is asked for: no incarnation, so it is not rewritten.
        await this.#send('DELETED', { ...event.row, incarnation: '', raw: identityObject(type, event.row, position) });
      }
    }
    this.#scope = after;
    this.#position = position;
    if (events.length > 0) await this.#flushEvents();
    return true;
  }

  #eventsUnder(after: RowScope): Promise<RightsEvents> {
    const { query, keys, matches } = this.#question;
    return rightsEvents(this.#dependencies.store, this.#dependencies.feed, {
      query,
      types: keys,
      before: this.#scope,
      after,
      position: this.#position,
      wasSent: (entry) => entry.before !== undefined && matches(entry.before, entry),
    });
  }

  /** Rights of the bookmark's position: a watch that goes on from there at another process reads those in the log. */
  async bookmark(annotations?: Readonly<Record<string, string>>): Promise<void> {
    await this.followRights();
    this.#question.onReached(this.#position, this.#scope);
    this.#add('BOOKMARK', this.#question.form.bookmark(this.#position, annotations));
    await this.#flush();
  }

  #changeOf(entry: LogEntry, scope: RowScope): Change | undefined {
    return scopeAllows(scope, entry) ? changeOf(entry, this.#question.matches) : undefined;
  }

  async #send(type: Change['type'], row: EventRow): Promise<void> {
    this.#add(type, this.#question.form.object(row));
    if (this.#bytes > writeBytes) await this.#flush();
  }

  /** Objects keep the member's resourceVersion, so only a bookmark says where a client can go on. */
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
