// Reads a page of rows for lists, collections and POSTed queries. kubectl always sends limit=500, so whenever rows
// remain the answer says where they go on: a person would take the beginning for everything.
import { GatewayError } from '../../../cache/model/errors.ts';
import { expiredMessage, isExpired, openContinue, queryDigest, resumed, sealContinue } from '../../query/continue.ts';
import type { ContinueState, ContinueUse } from '../../query/continue.ts';
import type { Page, PageRequest } from '../../stores/store.ts';
import type { AnswerDependencies } from '../answer-dependencies.ts';
import type { Warning } from '../answer-body.ts';
import { EarlyAnswer } from '../answer.ts';
import type { ListMeta } from '../forms.ts';
import { planInjection } from '../injected-events.ts';
import { requireInLog, waitForVersion } from '../list-options.ts';
import type { ListVersion } from '../list-options.ts';
import type { Sight } from '../plan.ts';
import type { CollectionQuestion, ObjectsQuestion, PostedQuestion } from '../question.ts';
import type { Planned } from '../state.ts';
import { aboutRequest } from './plan-types.ts';
import type { ListPlan } from './plan-objects.ts';
import type { PagePlan } from './plan-types.ts';

/** A page and what the answer says of it. */
export interface ListedPage {
  readonly page: Page;
  readonly meta: ListMeta;
  readonly warnings: readonly Warning[];
}

/** A page that was asked for by one of these. */
type PageState = Planned<ObjectsQuestion | CollectionQuestion | PostedQuestion, unknown, PagePlan>;

/**
 * How long a continue token may be used; the log may end sooner. As etcd's compaction, with which kube-apiserver's
 * tokens end.
 */
const tokenLifeMs = 15 * 60_000;

/** A page of a list; a watch may be taken up where the list ends. */
export async function fetchList(
  state: Planned<ObjectsQuestion, Sight, ListPlan>,
  dependencies: AnswerDependencies,
): Promise<ListedPage | EarlyAnswer> {
  const listed = await fetchPage(state, dependencies);
  if (listed instanceof EarlyAnswer) return listed;
  dependencies.issuedRights.note(state.sight.of, listed.meta.resourceVersion, state.plan.scope);
  return listed;
}

/**
 * Reads the page that was asked for.
 * @returns the Status with a fresh token where the token is too old
 * @throws GatewayError (rejects) BAD_REQUEST, EXPIRED, MEMBER_TIMEOUT, or as the store does
 */
export async function fetchPage(state: PageState, dependencies: AnswerDependencies): Promise<ListedPage | EarlyAnswer> {
  const { store } = dependencies;
  const { request, question, plan } = state;
  const token = await openToken(state, dependencies);
  if (token instanceof EarlyAnswer) return token;
  const offset = allowedOffset(question.asked.page.offset, store.limits.maxOffset);
  await waitForVersion(store, plan.version.notOlderThan);
  await requireInLog(store, plan.version.notOlderThan, true);
  const { injectEvents, query } = question.asked;
  const injection = injectEvents ? await planInjection(request.user, query.clusters, dependencies) : undefined;
  const page = await store.list(plan.query, plan.scope, pageRequest(question.asked.page, offset, token));
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

/** Of what was asked, not of what happens to be there: a type that comes later must not make tokens worthless. */
function useOf({ request, question }: PageState, { store }: AnswerDependencies): ContinueUse {
  return {
    query: queryDigest(question.asked.query),
    userName: request.user.name,
    userUid: request.user.uid,
    store: store.id,
  };
}

/** @returns undefined when no token was sent @throws GatewayError (rejects) BAD_REQUEST for one that is not valid */
async function openToken(
  state: PageState,
  dependencies: AnswerDependencies,
): Promise<ContinueState | EarlyAnswer | undefined> {
  const { continueToken } = state.question.asked.page;
  if (continueToken === undefined) return undefined;
  const { store, continueKeys, now } = dependencies;
  const use = useOf(state, dependencies);
  const opened = openContinue(continueKeys, use, continueToken);
  const oldestResourceVersion = await store.oldestResourceVersion();
  if (!isExpired(opened, { nowMs: now(), oldestResourceVersion, store: store.id })) return opened;
  const fresh = sealContinue(continueKeys, use, resumed(opened, now() + tokenLifeMs));
  return expiredToken(fresh, dependencies);
}

/** As kube-apiserver answers: 410 with a token that goes on in the state of now. */
function expiredToken(fresh: string, { statusJson }: AnswerDependencies): EarlyAnswer {
  const error = new GatewayError('EXPIRED', expiredMessage);
  const status = JSON.parse(statusJson(error)) as Readonly<Record<string, unknown>>;
  const body = Buffer.from(`${JSON.stringify({ ...status, metadata: { continue: fresh } })}\n`);
  return new EarlyAnswer({ kind: 'whole', body, warnings: [], status: error.status, error });
}

function allowedOffset(offset = 0, maxOffset: number): number {
  if (offset <= maxOffset) return offset;
  throw new GatewayError(
    'BAD_REQUEST',
    `continue is more than ${maxOffset} rows; go on with the token of a page instead`,
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
    // Only a token can go on behind a row that is not on the page.
    overBudget: continueStyle === 'opaque' ? 'end' : 'refuse',
  };
}

function requireExact({ exact }: ListVersion, { resourceVersion }: Page): void {
  if (exact === undefined || exact === resourceVersion) return;
  throw new GatewayError(
    'EXPIRED',
    `The resourceVersion for the provided list is too old: the index has only the state of now (${resourceVersion})`,
  );
}

function listMeta(
  state: PageState,
  page: Page,
  token: ContinueState | undefined,
  dependencies: AnswerDependencies,
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
