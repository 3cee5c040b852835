// A table of objects that is kept up to date: it lists the objects, watches from the list's resourceVersion, and lists
// again when the watch cannot continue. Changed rows are shown at most four times a second, so that many changes do not
// make the page slow.
import { batch, signal } from '@preact/signals';
import { ApiError, ask, askJson, linesOf, tableForm } from '../api/api.ts';
import { clusterOf } from '../api/kube.ts';
import type { Metadata } from '../api/kube.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  /** 0 for columns that are always shown; above 0 for those of `kubectl get -o wide`. */
  readonly priority: number;
}

export interface Row {
  /** Identifies the row among the rows of all clusters. */
  readonly key: string;
  readonly cells: readonly unknown[];
  readonly metadata: Metadata;
  /** Name of the object's cluster; '' in tables of the gateway's own objects. */
  readonly cluster: string;
}

interface TableDocument {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly columnDefinitions?: readonly Column[] | null;
  readonly rows?:
    | readonly { readonly cells: readonly unknown[]; readonly object: { readonly metadata: Metadata } }[]
    | null;
}

/**
 * `live`: the watch is open. `paused`: the watch is closed, because the page has been hidden for a minute. `retrying`:
 * a request failed, so the rows may be out of date. `failed`: a request failed, and there are no rows.
 */
export type LiveState = 'loading' | 'live' | 'paused' | 'retrying' | 'failed';

const firstPage = 500;
const nextPages = 2000;
const mostRows = 20_000;
const flushMs = 250;
const hiddenMs = 60_000;
const longestWaitMs = 15_000;

/** A list that is kept up to date until it is closed. */
export class LiveTable {
  readonly rows = signal<readonly Row[]>([]);
  readonly columns = signal<readonly Column[]>([]);
  readonly state = signal<LiveState>('loading');
  readonly error = signal<ApiError | undefined>(undefined);
  readonly warnings = signal<readonly string[]>([]);
  /** How many rows exist beyond those that are shown, of which there are at most `mostRows`. */
  readonly more = signal(0);
  /**
   * Counts the changes of rows. A view that depends on them, such as the counts of facets, can send its request again.
   */
  readonly changes = signal(0);
  readonly #path: string;
  readonly #query: URLSearchParams;
  readonly #closed = new AbortController();
  #watching: AbortController | undefined;
  #version = '';
  /** Attempts since the watch last delivered something. */
  #failures = 0;
  #known = new Map<string, Row>();
  #flush: ReturnType<typeof setTimeout> | undefined;
  #hidden: ReturnType<typeof setTimeout> | undefined;
  #resume: (() => void) | undefined;

  /** @param query selectors, which are sent with the list and with the watch */
  constructor(path: string, query: URLSearchParams) {
    this.#path = path;
    this.#query = query;
    document.addEventListener('visibilitychange', this.#onVisibility);
    void this.#run();
  }

  close(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    clearTimeout(this.#flush);
    clearTimeout(this.#hidden);
    this.#closed.abort();
    this.#watching?.abort();
    this.#resume?.();
  }

  /** Sends the next request at once, without the wait that follows a failure. */
  retry(): void {
    this.#resume?.();
  }

  async #run(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      let waitMs = 0;
      try {
        if (this.#version === '') await this.#list();
        await this.#watch();
      } catch (error) {
        if (this.#closed.signal.aborted) return;
        waitMs = this.#fail(error);
      }
      // After a watch that has delivered something, the next one begins soon. The more attempts in a row deliver
      // nothing, the longer the wait.
      this.#failures += 1;
      await this.#wait(Math.max(waitMs, Math.min(longestWaitMs, 500 * 2 ** Math.min(this.#failures - 1, 5))));
    }
  }

  /** Shows an error. Returns the milliseconds that the gateway asks to wait. */
  #fail(error: unknown): number {
    // Any other error means that the stream of the watch broke off. The next attempt shows whether the gateway can be
    // reached.
    if (!(error instanceof ApiError)) return 0;
    if (error.status >= 400 && error.status < 500 && error.status !== 429) this.#version = '';
    // A resourceVersion that is too old (410) is normal: the list is read again. An error is shown only if that fails
    // too.
    if (error.status === 410 && this.#failures === 0) return 0;
    batch(() => {
      this.error.value = error;
      this.state.value = this.rows.value.length > 0 ? 'retrying' : 'failed';
    });
    return error.retryAfterSeconds * 1000;
  }

  #wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#resume = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #list(): Promise<void> {
    const known = new Map<string, Row>();
    let columns: readonly Column[] = [];
    let warnings: readonly string[] = [];
    let left = 0;
    for (let next = ''; ;) {
      const page = await this.#page(next, known.size === 0 ? firstPage : nextPages);
      if (next === '') {
        columns = page.columnDefinitions ?? [];
        this.#version = page.metadata?.resourceVersion ?? '';
      }
      warnings = [...new Set([...warnings, ...page.warnings])];
      for (const each of page.rows ?? []) this.#put(known, each);
      next = page.metadata?.continue ?? '';
      left = next === '' ? 0 : (page.metadata?.remainingItemCount ?? left);
      const isLast = next === '' || known.size >= mostRows;
      // The first page is shown at once. When the list is read again, the old rows stay until all new rows have
      // arrived.
      if (isLast || this.#known.size === 0 || this.state.peek() === 'loading')
        this.#show(known, columns, warnings, left);
      if (isLast) return;
    }
  }

  #page(next: string, limit: number): Promise<TableDocument & { readonly warnings: readonly string[] }> {
    const query = new URLSearchParams(this.#query);
    query.set('limit', String(limit));
    if (next === '') query.set('withRemainingCount', 'true');
    else query.set('continue', next);
    return askJson<TableDocument>(`${this.#path}?${query}`, { accept: tableForm, signal: this.#closed.signal });
  }

  #show(known: Map<string, Row>, columns: readonly Column[], warnings: readonly string[], left: number): void {
    this.#known = known;
    batch(() => {
      this.columns.value = columns;
      this.rows.value = [...known.values()];
      this.warnings.value = warnings;
      this.more.value = left;
      this.error.value = undefined;
      this.state.value = 'live';
      this.changes.value += 1;
    });
  }

  async #watch(): Promise<void> {
    this.#watching = new AbortController();
    const signal = AbortSignal.any([this.#closed.signal, this.#watching.signal]);
    const query = new URLSearchParams(this.#query);
    query.set('watch', 'true');
    query.set('allowWatchBookmarks', 'true');
    query.set('resourceVersion', this.#version);
    try {
      const answer = await ask(`${this.#path}?${query}`, { accept: tableForm, signal });
      batch(() => {
        this.error.value = undefined;
        this.state.value = 'live';
      });
      for await (const lines of linesOf(answer)) for (const line of lines) this.#take(line);
    } catch (error) {
      if (!this.#watching.signal.aborted || this.#closed.signal.aborted) throw error;
      this.state.value = 'paused';
      await new Promise<void>((resolve) => (this.#resume = resolve));
    }
  }

  #take(line: string): void {
    if (line === '') return;
    const { type, object } = JSON.parse(line) as {
      type: string;
      object: TableDocument & { code?: number; message?: string };
    };
    if (type === 'ERROR') throw new ApiError(object.code ?? 500, object as { message: string }, '');
    this.#failures = 0;
    const version = object.metadata?.resourceVersion;
    if (type === 'BOOKMARK') {
      const mark = version ?? object.rows?.[0]?.object.metadata.resourceVersion;
      if (mark !== undefined && mark !== '') this.#version = mark;
      return;
    }
    for (const each of object.rows ?? []) {
      if (type === 'DELETED') this.#known.delete(keyOf(each.object.metadata));
      else this.#put(this.#known, each);
    }
    this.#flush ??= setTimeout(() => {
      this.#flush = undefined;
      batch(() => {
        this.rows.value = [...this.#known.values()];
        this.changes.value += 1;
      });
    }, flushMs);
  }

  #put(known: Map<string, Row>, { cells, object: { metadata } }: NonNullable<TableDocument['rows']>[number]): void {
    const key = keyOf(metadata);
    known.set(key, { key, cells, metadata, cluster: clusterOf(metadata) });
  }

  readonly #onVisibility = (): void => {
    clearTimeout(this.#hidden);
    if (document.hidden) this.#hidden = setTimeout(() => this.#watching?.abort(), hiddenMs);
    else this.#resume?.();
  };
}

function keyOf(metadata: Metadata): string {
  return `${clusterOf(metadata)} ${metadata.uid ?? `${metadata.namespace ?? ''}/${metadata.name}`}`;
}
