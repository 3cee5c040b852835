// Clusterpedia's parameter `injectEvents`: adds to each object of a list an annotation with the Events about it. Only
// Events that the caller may list are added. They are matched by uid, so an object that was created again does not get
// the Events of its predecessor, and by namespace: whoever may create Events in one namespace can give them any uid.
import type { User } from '../../model/user.ts';
import { allOf } from '../../query/list-query.ts';
import { parsePath } from '../../query/path.ts';
import type { RowRead } from '../../store/store.ts';
import type { Warning } from '../answer/answer-body.ts';
import type { FetchDependencies } from './answer-dependencies.ts';
import { readWithinRights, type Reads } from './current-rights.ts';
import { planAnswer, queryOf } from './plan.ts';
import type { Plan } from './plan.ts';
import type { PlanQuestion } from '../request/plan-question.ts';
import { asBuffer, textAt, withAnnotation } from '../../lib/json/raw-json.ts';
import { isError } from '../request/request.ts';

const annotation = 'shadow.clusterpedia.io/events';
const events = { group: '', resource: 'events' };
/**
 * The most Events that are added to one object, and the most bytes of Events for one chunk of rows. Further Events are
 * left out.
 */
const mostOfObject = 100;
const mostBytes = 16 * 1024 * 1024;

type Chunks = AsyncIterable<readonly RowRead[]>;

/** A function that adds Events to rows, and the warnings of the answer. */
export interface EventInjection {
  readonly inject: (chunks: Chunks) => Chunks;
  readonly warnings: readonly Warning[];
}

/** Finds out which Events the caller may see. @param clusters names of clusters; undefined for all */
export async function planInjection(
  user: User,
  clusters: readonly string[] | undefined,
  dependencies: FetchDependencies,
): Promise<EventInjection> {
  const of: PlanQuestion = {
    user,
    verb: 'list',
    types: [{ ...events, version: undefined }],
    clusters,
    cluster: undefined,
  };
  let plan: Plan;
  try {
    plan = await planAnswer(of, dependencies);
  } catch (error) {
    if (!isError(error, 'NOT_FOUND', 'CLUSTER_NOT_FOUND')) throw error;
    const text = 'injectEvents: no events are indexed that you may see; --index-resources has to name events';
    return { inject: (chunks) => chunks, warnings: [{ cluster: undefined, text }] };
  }
  return { inject: (chunks) => injected(chunks, of, plan, dependencies), warnings: plan.warnings };
}

async function* injected(
  chunks: Chunks,
  of: PlanQuestion,
  first: Plan,
  dependencies: FetchDependencies,
): AsyncGenerator<readonly RowRead[]> {
  let plan = first;
  for await (const rows of chunks) {
    const read = await readWithinRights(plan, dependencies.rights, dependencies.reads, {
      scopedBy: (each) => each,
      read: (each, reads) => eventsOf(rows, each, reads),
      replan: () => planOrNothing(of, dependencies),
    });
    plan = read.plan;
    const { found } = read;
    yield rows.map((row) => {
      const texts = found.get(objectKey(row));
      return texts === undefined ? row : { ...row, raw: withAnnotation(row.raw, annotation, `[${texts.join()}]`) };
    });
  }
}

/** Plans the list of Events with the caller's current rights. When the caller may see no Events, the plan is empty. */
async function planOrNothing(of: PlanQuestion, dependencies: FetchDependencies): Promise<Plan> {
  try {
    return await planAnswer(of, dependencies);
  } catch (error) {
    if (!isError(error, 'NOT_FOUND', 'CLUSTER_NOT_FOUND')) throw error;
    const scope = { grants: new Map(), digest: 'no events' };
    return { views: [], warnings: [], scope, rightsUpTo: await dependencies.rights.current() };
  }
}

const objectKey = ({ incarnation, uid }: Pick<RowRead, 'incarnation' | 'uid'>): string => `${incarnation} ${uid}`;

/**
 * Reads the Events about these rows from the index. Returns them as JSON texts, by the cluster's incarnation and the
 * object's uid.
 */
async function eventsOf(
  rows: readonly RowRead[],
  plan: Plan,
  reads: Pick<Reads, 'list'>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  const uids = [...new Set(rows.map(({ uid }) => uid))];
  const places = new Map(rows.map((row) => [objectKey(row), row.namespace]));
  if (uids.length === 0) return found;
  const asked = {
    ...allOf(events),
    clusters: [...new Set(rows.map(({ cluster }) => cluster))],
    fields: [{ path: uidPath, operator: 'In' as const, values: uids }],
  };
  const page = await reads.list(queryOf(asked, plan.views), plan.scope, {});
  let bytes = 0;
  for await (const chunk of page.chunks) {
    for (const event of chunk) {
      const uid = textAt(event.raw, ['involvedObject', 'uid']);
      if (uid === undefined) continue;
      const key = objectKey({ incarnation: event.incarnation, uid });
      const place = places.get(key) ?? '';
      if (place !== '' && place !== event.namespace) continue;
      const texts = found.get(key) ?? [];
      bytes += event.raw.length;
      if (texts.length >= mostOfObject || bytes > mostBytes) continue;
      texts.push(asBuffer(event.raw).toString('utf8'));
      found.set(key, texts);
    }
  }
  return found;
}

const uidPath = parsePath('involvedObject.uid');
