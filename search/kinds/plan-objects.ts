// Decides how list, get and watch requests for one type are answered from the index.
import { GatewayError } from '../../model/errors.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { ListOptions } from '../../query/read/read-query.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { EarlyAnswer } from '../api/answer.ts';
import type { IncludeObject } from '../api/forms.ts';
import { notFound } from '../request/inner-path.ts';
import type { AskedObjects } from '../request/inner-path.ts';
import { readListVersion, readWatchStart } from '../request/list-options.ts';
import type { WatchStart } from '../request/list-options.ts';
import { planOf, queryOf } from '../api/plan.ts';
import type { Plan, Visibility } from '../api/plan.ts';
import type { ObjectsQuestion } from '../api/question.ts';
import type { Form, IndexRequest } from '../request/request.ts';
import type { Authorized } from '../api/state.ts';
import { isEventsOfObject, noEvents } from './no-events.ts';
import { aboutRequest } from './plan-types.ts';
import type { PagePlan, RowsPlan } from './plan-types.ts';
import { memberPath } from './read-objects.ts';

const objectForms = ['Table', '', 'PartialObjectMetadata', 'PartialObjectMetadataList'] as const;

/** The form in which the client wants objects: plain, as a Table, or their metadata only. */
export interface ObjectsForm {
  readonly as: Form['as'];
  readonly isPartial: boolean;
  /** What each row of a Table contains of its object. */
  readonly include: IncludeObject;
}

/** The plan of a list, with the form of the answer. */
export interface ListPlan extends PagePlan {
  readonly form: ObjectsForm;
}

export async function planList(
  { request, question, visibility }: Authorized<ObjectsQuestion, Visibility>,
  dependencies: AnswerDependencies,
): Promise<ListPlan | EarlyAnswer> {
  const { path, parameters, asked } = question;
  const plan = await planPath(request, path, visibility, dependencies).catch((error: unknown) => {
    const isNotIndexed = error instanceof GatewayError && error.code === 'NOT_FOUND';
    if (isNotIndexed && isEventsOfObject(path, parameters))
      return new EarlyAnswer(noEvents(request, path, error, dependencies));
    throw error;
  });
  if (plan instanceof EarlyAnswer) return plan;
  const version = readListVersion(asked, dependencies.store);
  const form = { ...wantedForm(request), include: includeObject(asked) };
  const warnings = [...aboutRequest(...asked.pageWarnings, ...asked.warnings), ...plan.warnings];
  return { ...plan, query: queryOf(asked.query, plan.views), version, form, warnings };
}

/** The plan of a get by name, with the form of the answer. */
export interface ObjectPlan extends RowsPlan {
  readonly form: ObjectsForm;
}

export async function planObject(
  { request, question, visibility }: Authorized<ObjectsQuestion, Visibility>,
  dependencies: AnswerDependencies,
): Promise<ObjectPlan | EarlyAnswer> {
  const { path, asked } = question;
  const plan = await planPath(request, path, visibility, dependencies);
  if (plan instanceof EarlyAnswer) return plan;
  const warnings = [...aboutRequest(...asked.warnings), ...plan.warnings];
  return { ...plan, query: queryOf(asked.query, plan.views), form: oneForm(request, asked), warnings };
}

/** The plan of a watch: where it begins, and the form of its events. */
export interface WatchPlan extends RowsPlan {
  readonly form: ObjectsForm;
  readonly start: WatchStart;
}

export async function planWatch(
  { request, question, visibility }: Authorized<ObjectsQuestion, Visibility>,
  dependencies: AnswerDependencies,
): Promise<WatchPlan | EarlyAnswer> {
  const { path, asked } = question;
  const plan = await planPath(request, path, visibility, dependencies);
  if (plan instanceof EarlyAnswer) return plan;
  requireWatchable(request, asked.query);
  const start = readWatchStart(asked, dependencies.store);
  const form = oneForm(request, asked);
  if (form.as === 'PartialObjectMetadataList')
    throw new GatewayError('NOT_ACCEPTABLE', 'a watch cannot be answered in a format that the Accept header allows');
  const query = { ...queryOf(asked.query, plan.views), order: [] };
  return { ...plan, query, form, start };
}

/**
 * Refuses what cannot be watched.
 * @throws GatewayError METHOD_NOT_ALLOWED for another method than GET; BAD_REQUEST for a query by owner, unless it
 * gives the UID of the direct owner: the objects that other conditions on owners match can change without an event
 */
export function requireWatchable(request: IndexRequest, { owner }: ListQuery): void {
  if (request.inbound.method !== 'GET')
    throw new GatewayError('METHOD_NOT_ALLOWED', 'a watch must be requested by GET');
  if (owner === undefined || (owner.uid !== undefined && owner.seniority === 0)) return;
  throw new GatewayError(
    'BAD_REQUEST',
    'a watch can select by ownerUID of the direct owner only; the other ways to name an owner are for lists',
  );
}

/**
 * Decides how the type in the path is answered.
 * @returns an answer that is passed on from the cluster, when the path names a cluster whose objects the index stores
 * in another version
 * @throws GatewayError (rejects) CLUSTER_NOT_FOUND or NOT_FOUND
 */
async function planPath(
  request: IndexRequest,
  path: AskedObjects,
  visibility: Visibility,
  dependencies: AnswerDependencies,
): Promise<Plan | EarlyAnswer> {
  const { cluster, namespace, name } = path;
  const plan = await planOf(visibility, dependencies);
  const { type, leftOut } = plan.views[0]!;
  if (!type.namespaced && namespace !== undefined) throw notFound();
  if (type.namespaced && namespace === undefined && name !== undefined) throw notFound();
  if (cluster === undefined || leftOut.size === 0) return plan;
  return new EarlyAnswer({ kind: 'relayed', clusters: [cluster], path: memberPath(path), query: request.query });
}

function wantedForm(request: IndexRequest): Pick<ObjectsForm, 'as' | 'isPartial'> {
  const { as } = request.form(objectForms);
  return { as, isPartial: as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList' };
}

/**
 * The requested form of an answer with one object or event. The parameter `includeObject` is read only when the form is
 * a Table.
 */
function oneForm(request: IndexRequest, options: ListOptions): ObjectsForm {
  const form = wantedForm(request);
  return { ...form, include: form.as === 'Table' ? includeObject(options) : 'Metadata' };
}

function includeObject({ includeObject: include }: ListOptions): IncludeObject {
  if (include === undefined) return 'Metadata';
  if (include === 'None' || include === 'Metadata' || include === 'Object') return include;
  throw new GatewayError('BAD_REQUEST', 'includeObject must be None, Metadata or Object');
}
