// Reads a page of rows for lists, collections and POSTed queries. kubectl always sends limit=500. If rows remain, the
// answer must contain a continue token, or the user would take the first page for the whole list.
import { GatewayError } from '../../model/errors.ts';
import { expiredMessage, isExpired, openContinue, queryDigest, resumed, sealContinue } from '../../query/continue.ts';
import type { ContinueState, ContinueUse } from '../../query/continue.ts';
import type { Page, PageRequest } from '../../store/store.ts';
import type { FetchDependencies } from '../api/answer-dependencies.ts';
import type { Warning } from '../answer/answer-body.ts';
import { EarlyAnswer } from '../api/answer.ts';
import type { ListMeta } from '../api/forms.ts';
import { planInjection } from '../api/injected-events.ts';
import { waitForVersion } from '../request/list-options.ts';
import type { ListVersion } from '../request/list-options.ts';
import type { Visibility } from '../api/plan.ts';
import type { CollectionQuestion, ObjectsQuestion, PostedQuestion } from '../api/question.ts';
import type { Planned } from '../api/state.ts';
import { aboutRequest } from './plan-types.ts';
import type { PagePlan } from './plan-types.ts';

/** A page of rows, with the list's metadata and warnings. */
export interface ListedPage {
  readonly page: Page;
  readonly meta: ListMeta;
  readonly warnings: readonly Warning[];
}

/** A planned request whose answer is a page of rows. */
type PageState = Planned<ObjectsQuestion | CollectionQuestion | PostedQuestion, unknown, PagePlan>;

/**
 * How long a continue token is valid, in milliseconds. In kube-apiserver it is 5 to 15 minutes, until etcd compacts. A
 * token ends earlier when the change log does not reach back to its resourceVersion.
 */
const tokenLifeMs = 15 * 60_000;

/**
 * Reads a page of a list, and remembers the caller's rights at its resourceVersion, so that a watch can continue from
 * there.
 */
export async function fetchList(
  state: Planned<ObjectsQuestion | CollectionQuestion, Visibility, PagePlan>,
  dependencies: FetchDependencies,
): Promise<ListedPage | EarlyAnswer> {
  const listed = await fetchPage(state, dependencies);
  if (listed instanceof EarlyAnswer) return listed;
  dependencies.issuedRights.note(state.visibility.of, listed.meta.resourceVersion, state.plan.scope);
  return listed;
}

/**
 * Reads the requested page.
 * @returns a 410 Status with a new token when the continue token has expired
 * @throws GatewayError (rejects) BAD_REQUEST, EXPIRED, MEMBER_TIMEOUT, or an error of the index store
 */
export async function fetchPage(state: PageState, dependencies: FetchDependencies): Promise<ListedPage | EarlyAnswer> {
  const { store, reads } = dependencies;
  const { request, question, plan } = state;
  const token = await openToken(state, dependencies);
  if (token instanceof EarlyAnswer) return token;
  const offset = allowedOffset(question.asked.page.offset, store.limits.maxOffset);
  await waitForVersion(store, plan.version.notOlderThan, true);
  const { injectEvents, query } = question.asked;
  const injection = injectEvents ? await planInjection(request.user, query.clusters, dependencies) : undefined;
  const page = await reads.list(plan.query, plan.scope, pageRequest(question.asked.page, offset, token));
  requireExact(plan.version, page);
  const meta = listMeta(state, page, token, dependencies);
  const warnings = aboutRequest(...(page.warnings ?? []));
  if (injection === undefined) return { page, meta, warnings: [...warnings, ...plan.warnings] };
  return {
    page: { ...page, chunks: injection.inject(page.chunks) },
    meta,
    warnings: [...warnings, ...injection.warnings, ...plan.warnings],
  };
}

/**
 * Returns the query, user and store that a continue token is bound to; a request that differs in one of them cannot use
 * the token. The query contains the requested types and not the existing ones, so that a type that is added later does
 * not invalidate the token.
 */
function useOf({ request, question }: PageState, { store }: FetchDependencies): ContinueUse {
  return {
    query: queryDigest(question.asked.query),
    userName: request.user.name,
    userUid: request.user.uid,
    store: store.id,
  };
}

/**
 * Decrypts the continue token.
 * @returns undefined when the request has none
 * @throws GatewayError (rejects) BAD_REQUEST when it is invalid
 */
async function openToken(
  state: PageState,
  dependencies: FetchDependencies,
): Promise<ContinueState | EarlyAnswer | undefined> {
  const { continueToken } = state.question.asked.page;
  if (continueToken === undefined) return undefined;
  const { store, continueKeys, now } = dependencies;
  const use = useOf(state, dependencies);
  const opened = openContinue(continueKeys, use, continueToken);
  const isInLog = await store.isInLog(opened.resourceVersion);
  if (!isExpired(opened, { nowMs: now(), isInLog, store: store.id })) return opened;
  const fresh = sealContinue(continueKeys, use, resumed(opened, now() + tokenLifeMs));
  return expiredToken(fresh, dependencies);
}

/**
 * The answer for an expired token, as in kube-apiserver: a 410 Status with a token that continues in the present state.
 */
function expiredToken(fresh: string, { statusJson }: FetchDependencies): EarlyAnswer {
  const error = new GatewayError('EXPIRED', expiredMessage);
  const status = JSON.parse(statusJson(error)) as Readonly<Record<string, unknown>>;
  const body = Buffer.from(`${JSON.stringify({ ...status, metadata: { continue: fresh } })}\n`);
  return new EarlyAnswer({ kind: 'whole', body, warnings: [], status: error.status, error });
}

function allowedOffset(offset = 0, maxOffset: number): number {
  if (offset <= maxOffset) return offset;
  throw new GatewayError(
    'BAD_REQUEST',
    `continue is more than ${maxOffset} rows; use the continue token of the page before instead`,
  );
}

function pageRequest(
  { limit, withRemaining, continueStyle }: ObjectsQuestion['asked']['page'],
  offset: number,
  token: ContinueState | undefined,
): PageRequest {
  return {
    ...(limit === undefined ? {} : { limit }),
    ...(offset === 0 ? {} : { offset }),
    ...(token === undefined ? {} : { after: token.after }),
    ...(withRemaining ? { withRemaining: true } : {}),
    // The store may stop reading before the page is full, when it must read too many objects to find matches. Only an
    // encrypted token can then continue after the last object that was read.
    overBudget: continueStyle === 'opaque' ? 'end' : 'refuse',
  };
}

function requireExact({ exact }: ListVersion, { resourceVersion }: Page): void {
  if (exact === undefined || exact === resourceVersion) return;
  throw new GatewayError(
    'EXPIRED',
    `The resourceVersion for the provided list is too old: the index has only the current state (${resourceVersion})`,
  );
}

function listMeta(
  state: PageState,
  page: Page,
  token: ContinueState | undefined,
  dependencies: FetchDependencies,
): ListMeta {
  const { continueStyle, offset = 0, limit = 0 } = state.question.asked.page;
  const resourceVersion = token?.resourceVersion || page.resourceVersion;
  const meta = { resourceVersion, continueToken: undefined, remaining: page.remaining };
  if (page.next === undefined || continueStyle === 'none') return meta;
  if (continueStyle === 'decimal') return { ...meta, continueToken: String(offset + limit) };
  const expiresAtMs = dependencies.now() + tokenLifeMs;
  const next = { after: page.next, resourceVersion, expiresAtMs };
  return { ...meta, continueToken: sealContinue(dependencies.continueKeys, useOf(state, dependencies), next) };
}
