// Turns rows into the requested form: a list, a Table, a collection, a single object, or events of a watch.
import { documentPaths, readDocument } from '../../query/document.ts';
import { compileMatcher } from '../../query/match.ts';
import type { RowRead } from '../../store/store.ts';
import { collectionTable, tableOf } from '../table/table.ts';
import { typeKey } from '../../query/types.ts';
import type { WatchQuestion } from '../watch/watch-question.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { apiVersionOf } from '../catalog/catalog.ts';
import type { WatchStart } from '../request/list-options.ts';
import type { IndexRequest } from '../request/request.ts';
import type { RowsAnswer, WatchAnswer, WholeAnswer } from '../api/answer.ts';
import {
  collectionDocument,
  eventForm,
  listDocument,
  objectForm,
  oneDocument,
  partialNames,
  tableDocument,
  tableEventForm,
} from '../api/forms.ts';
import type { ListMeta, ObjectParts } from '../api/forms.ts';
import { visibleNow } from '../api/plan.ts';
import type { Visibility } from '../api/plan.ts';
import type { CollectionQuestion, ObjectsQuestion, PostedQuestion } from '../api/question.ts';
import { isKarmadas } from '../request/request.ts';
import type { RowDocument } from '../answer/row-stream.ts';
import type { Fetched } from '../api/state.ts';
import type { ListedPage } from './fetch-page.ts';
import type { ListPlan, ObjectPlan, WatchPlan } from './plan-objects.ts';
import type { CollectionPlan, PagePlan } from './plan-types.ts';

const versionPath = documentPaths([
  [
    { kind: 'key', key: 'metadata' },
    { kind: 'key', key: 'resourceVersion' },
  ],
]);

export function formList(
  { request, question: { asked }, plan, found }: Fetched<ObjectsQuestion, Visibility, ListPlan, ListedPage>,
  { now }: AnswerDependencies,
): RowsAnswer {
  const { isPartial } = plan.form;
  const parts = { ...asked, namesCached: isKarmadas(request) };
  const document =
    plan.form.as === 'Table'
      ? tableOfRows(plan, parts, found.meta, now())
      : listDocument(plan.views[0]!.type, found.meta, objectForm(plan.views, { ...parts, isPartial }), isPartial);
  return { kind: 'rows', document, page: found.page, warnings: found.warnings };
}

function tableOfRows(
  { views, form }: ListPlan | ObjectPlan,
  parts: ObjectParts,
  meta: ListMeta,
  nowMs: number,
): RowDocument {
  const { type } = views[0]!;
  return tableDocument(tableOf(type, type.version, nowMs), meta, objectForm(views, parts), form.include);
}

export function formObject(
  { request, question: { asked }, plan, found: row }: Fetched<ObjectsQuestion, Visibility, ObjectPlan, RowRead>,
  { now }: AnswerDependencies,
): WholeAnswer {
  const { views, warnings, form } = plan;
  const parts = { ...asked, namesCached: isKarmadas(request) };
  if (form.as === 'Table') {
    const resourceVersion = readDocument(row.raw, versionPath)[0]?.[0] ?? '';
    const meta = { resourceVersion, continueToken: undefined, remaining: undefined };
    return { kind: 'whole', body: oneDocument(tableOfRows(plan, parts, meta, now()), row), warnings };
  }
  const object = objectForm(views, { ...parts, isPartial: form.isPartial })(row);
  return { kind: 'whole', body: Buffer.concat([object, Buffer.from('\n')]), warnings };
}

export function formCollection(
  { question, plan, found }: Fetched<CollectionQuestion, Visibility, CollectionPlan, ListedPage>,
  { now }: AnswerDependencies,
): RowsAnswer {
  const { name, as, asked } = question;
  const { page, meta, warnings } = found;
  const document =
    as === 'Table'
      ? tableDocument(
          collectionTable(now()),
          meta,
          objectForm(plan.views, { onlyMetadata: false, fields: undefined }),
          'Metadata',
        )
      : collectionDocument(name, plan.shown, meta, objectForm(plan.views, { ...asked, isPartial: as !== '' }));
  return { kind: 'rows', document, page, warnings };
}

/** A list when one type is requested, otherwise a collection named `query`. */
export function formPosted({
  question: { asked },
  plan: { views },
  found: { page, meta, warnings },
}: Fetched<PostedQuestion, Visibility, PagePlan, ListedPage>): RowsAnswer {
  const show = objectForm(views, asked);
  const types = views.map(({ type }) => type);
  const document =
    types.length === 1 && asked.query.types.length === 1
      ? listDocument(types[0]!, meta, show, false)
      : collectionDocument('query', types, meta, show);
  return { kind: 'rows', document, page, warnings };
}

export function formEvents(
  {
    request,
    question: { asked },
    visibility: { of },
    plan,
    found,
  }: Fetched<ObjectsQuestion, Visibility, WatchPlan, Pick<WatchQuestion, 'after' | 'before'>>,
  dependencies: AnswerDependencies,
): WatchAnswer {
  const { views, query, start, form } = plan;
  const { type } = views[0]!;
  const { now, issuedRights } = dependencies;
  const parts = { ...asked, namesCached: isKarmadas(request) };
  return {
    kind: 'watch',
    watch: {
      ...found,
      query,
      matches: compileMatcher(query),
      types: views.map((view) => view.type),
      keys: views.map((view) => typeKey(view.type)),
      form:
        form.as === 'Table'
          ? tableEventForm(() => tableOf(type, type.version, now()), objectForm(views, parts), form.include)
          : eventForm(
              form.isPartial ? partialNames : { kind: type.kind, apiVersion: apiVersionOf(type.group, type.version) },
              objectForm(views, { ...parts, isPartial: form.isPartial }),
            ),
      marksInitialEnd: start.marksInitialEnd,
      bookmarks: start.bookmarks,
      timeoutMs: watchLimit(request, start, dependencies),
      warnings: plan.warnings,
      visible: visibleNow(of, dependencies),
      onRightsChange: (listener) => dependencies.rights.onChange(listener, of.byOwner === true ? undefined : of),
      onReached: (position, scope) => issuedRights.note(of, position, scope),
    },
  };
}

/** Returns the number of milliseconds after which the gateway ends a watch; undefined for no limit. */
export function watchLimit(
  { aggregated, asked }: IndexRequest,
  { timeoutMs }: WatchStart,
  { aggregatedWatchMs }: AnswerDependencies,
): number | undefined {
  // A hub's kube-apiserver does not recognise a watch at these paths, and cuts the request after 60 s. So the gateway
  // ends the watch before that, so that no events are lost.
  const isTakenForShort =
    asked.part === 'resources' || asked.part === 'cache' || (asked.part === 'collections' && asked.name !== undefined);
  const limits = [timeoutMs, aggregated && isTakenForShort ? aggregatedWatchMs : undefined];
  const given = limits.filter((ms) => ms !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}
