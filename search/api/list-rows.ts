// Answers a list: a page or all of it, in the form that was asked for. Easy to get wrong: kubectl always sends
// limit=500, so whenever rows remain the answer says where they go on, or a person takes the beginning for everything.
import { GatewayError } from '../../cache/model/errors.ts';
import { expiredMessage, isExpired, openContinue, queryDigest, resumed, sealContinue } from '../query/continue.ts';
import type { ContinueState, ContinueUse } from '../query/continue.ts';
import type { ListQuery } from '../query/list-query.ts';
import type { AskedQuery } from '../query/read-query.ts';
import type { Page } from '../stores/store.ts';
import { sendWhole } from './answer-body.ts';
import type { Warning } from './answer-body.ts';
import type { ListMeta } from './forms.ts';
import { planInjection } from './injected-events.ts';
import { requireInLog, waitForVersion } from './list-options.ts';
import type { ListVersion } from './list-options.ts';
import type { AnswerParts } from './parts.ts';
import type { Plan } from './plan.ts';
import type { IndexRequest } from './request.ts';
import { sendRows } from './row-stream.ts';
import type { RowDocument } from './row-stream.ts';

/** A page and what the answer says of it. */
export interface ListedPage {
  readonly page: Page;
  readonly meta: ListMeta;
  /** Beside those of the question and its plan. */
  readonly warnings: readonly Warning[];
}

/**
 * How long a continue token may be used; the log may end sooner. As etcd's compaction, with which kube-apiserver's
 * tokens end.
 */
const tokenLifeMs = 15 * 60_000;

/** A token that can no longer be used; the answer holds a fresh one. */
class ExpiredToken extends GatewayError {
  readonly fresh: string;

  constructor(fresh: string) {
    super('EXPIRED', expiredMessage);
    this.fresh = fresh;
  }
}

/** Reads the page that was asked for. @throws GatewayError (rejects) BAD_REQUEST, EXPIRED, or as the store does */
export async function readListPage(
  request: IndexRequest,
  { page: asked, query: askedQuery, injectEvents }: AskedQuery,
  query: ListQuery,
  { scope }: Plan,
  version: ListVersion,
  parts: AnswerParts,
): Promise<ListedPage> {
  const { store, continueKeys } = parts;
  // Of what was asked, not of what happens to be there: a type that comes later must not make tokens worthless.
  const useOf = (): ContinueUse => ({
    query: queryDigest(askedQuery),
    userName: request.user.name,
    userUid: request.user.uid,
    store: store.id,
  });
  const expiresAtMs = parts.now() + tokenLifeMs;
  let state: ContinueState | undefined;
  if (asked.continueToken !== undefined) {
    const use = useOf();
    const opened = openContinue(continueKeys, use, asked.continueToken);
    const oldestResourceVersion = await store.oldestResourceVersion();
    if (isExpired(opened, { nowMs: parts.now(), oldestResourceVersion, store: store.id }))
      throw new ExpiredToken(sealContinue(continueKeys, use, resumed(opened, expiresAtMs)));
    state = opened;
  }
  const offset = asked.offset ?? 0;
  const { maxOffset } = store.limits;
  if (offset > maxOffset)
    throw new GatewayError(
      'BAD_REQUEST',
      `continue is more than ${maxOffset} rows; go on with the token of a page instead`,
    );
  await waitForVersion(store, version.notOlderThan);
  await requireInLog(store, version.notOlderThan, true);
  const injection = injectEvents ? await planInjection(request.user, askedQuery.clusters, parts) : undefined;
  const page = await store.list(query, scope, {
    ...(asked.limit === undefined ? {} : { limit: asked.limit }),
    ...(offset === 0 ? {} : { offset }),
    ...(state === undefined ? {} : { after: state.after }),
    ...(asked.withRemaining ? { withRemaining: true } : {}),
    // Only a token can go on behind a row that is not on the page.
    overBudget: asked.continueStyle === 'opaque' ? 'end' : 'refuse',
  });
  if (version.exact !== undefined && version.exact !== page.resourceVersion)
    throw new GatewayError(
      'EXPIRED',
      `The resourceVersion for the provided list is too old: the index has only the state of now (${page.resourceVersion})`,
    );
  const resourceVersion = state?.resourceVersion || page.resourceVersion;
  let continueToken: string | undefined;
  if (page.next !== undefined && asked.continueStyle === 'decimal') continueToken = String(offset + (asked.limit ?? 0));
  if (page.next !== undefined && asked.continueStyle === 'opaque')
    continueToken = sealContinue(continueKeys, useOf(), { after: page.next, resourceVersion, expiresAtMs });
  const meta = { resourceVersion, continueToken, remaining: page.remaining };
  const warnings = (page.warnings ?? []).map((text) => ({ cluster: undefined, text }));
  if (injection === undefined) return { page, meta, warnings };
  return {
    page: { ...page, chunks: injection.inject(page.chunks) },
    meta,
    warnings: [...warnings, ...injection.warnings],
  };
}

/** Sends a page; a token that is too old is answered with a fresh one. */
export async function sendListPage(
  request: IndexRequest,
  read: () => Promise<ListedPage>,
  document: (meta: ListMeta) => RowDocument,
  warnings: readonly Warning[],
  parts: AnswerParts,
): Promise<void> {
  let listed: ListedPage;
  try {
    listed = await read();
  } catch (error) {
    if (!(error instanceof ExpiredToken)) throw error;
    const status = JSON.parse(parts.statusJson(error)) as Readonly<Record<string, unknown>>;
    const body = { ...status, metadata: { continue: error.fresh } };
    request.outcome.error ??= error;
    sendWhole(request, Buffer.from(`${JSON.stringify(body)}\n`), [], undefined, error.status);
    return;
  }
  await sendRows(request, document(listed.meta), listed.page, [...listed.warnings, ...warnings], parts);
}

/** Warnings about the question itself. @param isPage the answer is a page of rows */
export function askedWarnings({ warnings, pageWarnings }: AskedQuery, isPage: boolean): readonly Warning[] {
  return [...(isPage ? pageWarnings : []), ...warnings].map((text) => ({ cluster: undefined, text }));
}
