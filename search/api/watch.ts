// A watch on the index: first the existing rows, then every change, until the client or the server ends it.
import { GatewayError } from '../../model/errors.ts';
import { beginBody, ClientGone, errorEvent } from '../answer/answer-body.ts';
import type { AnswerBody } from '../answer/answer-body.ts';
import { mostReadings, restlessRights } from './current-rights.ts';
import { isError, type IndexRequest } from '../request/request.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { Page } from '../../store/store.ts';
import { WatchAlarms } from '../watch/watch-alarms.ts';
import type { WatchDependencies, WatchQuestion } from '../watch/watch-question.ts';
import { WatchRun } from '../watch/watch-run.ts';

/** Milliseconds after which a watch reads again when the database of the index could not be reached. */
const awayMs = 1_000;

/**
 * Runs a watch until the client or the server ends it.
 * @throws GatewayError (rejects) only before anything was sent; later errors become an ERROR event
 */
export async function watchRows(
  request: IndexRequest,
  question: WatchQuestion,
  dependencies: WatchDependencies,
): Promise<void> {
  const { scope, page } = await firstRows(question, dependencies);
  const before = await question.before?.(scope);
  const alarms = new WatchAlarms();
  if (before !== undefined) alarms.ring('rightsChanged');
  const body = beginBody(request, question.warnings, dependencies.openStreams, {
    kind: 'watch',
    onOver: () => alarms.wake(),
  });
  alarms.set(question, dependencies);
  const position = question.after ?? page!.resourceVersion;
  const run = new WatchRun(body, question, dependencies, before ?? scope, position);
  try {
    await begin(run, page, question);
    await follow(run, body, alarms, question, dependencies);
    body.end();
  } catch (error) {
    await fail(error, body, request, dependencies);
  } finally {
    alarms.end();
  }
}

/**
 * Reads the rights that a watch begins with, and the existing rows unless the watch continues from a resourceVersion.
 * The rights are read before the rows. If the rights have changed meanwhile, the rows are read again.
 */
async function firstRows(
  { query, visible, after }: WatchQuestion,
  { store }: WatchDependencies,
): Promise<{ readonly scope: RowScope; readonly page: Page | undefined }> {
  let scope = await visible();
  if (after !== undefined) return { scope, page: undefined };
  for (let reading = 1; reading <= mostReadings; reading += 1) {
    const page = await store.list(query, scope, {});
    const now = await visible(page.rightsVersion);
    if (now.digest === scope.digest) return { scope, page };
    page.release?.();
    scope = now;
  }
  throw restlessRights();
}

async function begin(run: WatchRun, page: Page | undefined, { marksInitialEnd }: WatchQuestion): Promise<void> {
  if (page !== undefined) await run.sendRows(page.chunks);
  if (marksInitialEnd) await run.bookmark({ 'k8s.io/initial-events-end': 'true' });
}

/** Sends each change after its commit, until the client disconnects or the watch's timeout ends it. */
async function follow(
  run: WatchRun,
  body: AnswerBody,
  alarms: WatchAlarms,
  { bookmarks }: WatchQuestion,
  { store }: WatchDependencies,
): Promise<void> {
  while (!body.isOver) {
    const isTimeUp = alarms.take('timeUp');
    try {
      if (alarms.take('rightsChanged')) await run.followRights();
      const isMore = await run.sendChanges();
      const isBookmarkDue = alarms.take('bookmarkDue');
      if (bookmarks && (isBookmarkDue || isTimeUp)) await run.bookmark();
      if (isMore && !isTimeUp) continue;
    } catch (error) {
      if (store.comesBack !== true || !isError(error, 'INDEX_UNAVAILABLE')) throw error;
      alarms.ringIn('rightsChanged', awayMs);
    }
    if (isTimeUp) return;
    await alarms.idle();
  }
}

async function fail(
  error: unknown,
  body: AnswerBody,
  request: IndexRequest,
  { onError, statusJson }: WatchDependencies,
): Promise<void> {
  if (error instanceof ClientGone || body.isOver) return;
  request.outcome.error ??= error;
  if (!(error instanceof GatewayError)) onError(error);
  const shown = error instanceof GatewayError ? error : new GatewayError('INTERNAL', 'the watch failed; watch again');
  try {
    await body.write(errorEvent(statusJson(shown)));
  } catch {
    // The client has disconnected, so nobody can be told about the error.
  }
  body.end();
}
