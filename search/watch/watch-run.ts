// One running watch: reads rows and changes, checks each against the current rights, and writes events. Easy to get
// wrong: rights must be read after the changes on which they decide. Otherwise a change that was committed together
// with the loss of the right to see it would be sent.
import type { AnswerBody } from '../answer/answer-body.ts';
import { scopeAllows } from '../request/visible.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { LogEntry, RowRead } from '../../store/store.ts';
import { changeOf, identityObject, typeOf } from './change.ts';
import type { Change } from './change.ts';
import { rightsEvents, type RightsEvents } from './rights-change.ts';
import type { EventRow, WatchDependencies, WatchQuestion } from './watch-question.ts';

/** Events are collected up to this number of bytes before they are written. */
const writeBytes = 64 * 1024;
const lineEnd = Buffer.from('}\n');

/** One running watch: up to which resourceVersion its events were sent, and under which rights. */
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

  /** Sends all existing rows as ADDED events. */
  async sendRows(chunks: AsyncIterable<readonly RowRead[]>): Promise<void> {
    for await (const rows of chunks) {
      for (const row of rows) this.#add('ADDED', this.#question.form.object(row));
      await this.#flush();
    }
    if (this.#question.bookmarks && !this.#question.marksInitialEnd) await this.bookmark();
  }

  /** Sends the next changes. @returns whether there are more changes, which can be sent without waiting for a commit */
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

  /**
   * Reads the watcher's rights again. If they have changed, sends ADDED and DELETED for the objects concerned.
   * @returns whether the rights have changed
   */
  async followRights(): Promise<boolean> {
    let after = await this.#question.visible();
    if (after.digest === this.#scope.digest) return false;
    let found = await this.#eventsUnder(after);
    // If the rights changed again while the rows were read, the rows are read again under the newer rights.
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
        // identityObject has already written the version that the client asked for. An empty incarnation tells the form
        // that the object needs no conversion.
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

  /**
   * Sends a bookmark. Rights are brought up to date first, because another process at which the client resumes from
   * this bookmark works out the client's rights from the log up to the bookmark's resourceVersion.
   */
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

  /**
   * Writes the collected events, followed by a bookmark if the client accepts bookmarks. Objects carry the
   * resourceVersion of their own cluster, so only a bookmark tells the client from which resourceVersion of the index
   * it can resume.
   */
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
