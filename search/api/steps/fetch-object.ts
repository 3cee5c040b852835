// Reads one object by its name. The same name may be there in many clusters: without a cluster in the path it is
// answered only when the caller may get exactly one.
import { GatewayError } from '../../../cache/model/errors.ts';
import type { RowRead } from '../../stores/store.ts';
import type { AnswerDependencies } from '../answer-dependencies.ts';
import type { Sight } from '../plan.ts';
import type { ObjectsQuestion } from '../question.ts';
import type { Planned } from '../state.ts';
import type { ObjectPlan } from './plan-objects.ts';

/** More clusters than this are not named in an ambiguity. */
const mostNamed = 20;

/** @throws GatewayError (rejects) NOT_FOUND, or CONFLICT where several clusters have one that the caller may get */
export async function fetchObject(
  { question: { path }, plan }: Planned<ObjectsQuestion, Sight, ObjectPlan>,
  { store }: AnswerDependencies,
): Promise<RowRead> {
  const page = await store.list(plan.query, plan.scope, { limit: mostNamed + 1 });
  const rows: RowRead[] = [];
  for await (const chunk of page.chunks) rows.push(...chunk);
  const [row] = rows;
  const details = { kind: path.resource, group: path.group, name: path.name! };
  const what = path.group === '' ? path.resource : `${path.resource}.${path.group}`;
  const quoted = `${what} ${JSON.stringify(path.name)}`;
  if (row === undefined) throw new GatewayError('NOT_FOUND', `${quoted} not found`, details);
  if (rows.length === 1) return row;
  const clusters = [...new Set(rows.map(({ cluster }) => cluster))];
  const named = clusters.slice(0, mostNamed).join(', ') + (rows.length > mostNamed ? ', …' : '');
  throw new GatewayError(
    'CONFLICT',
    `${quoted} is in more than one cluster: ${named}; ask for one of them below …/clusters/<name>/`,
    details,
  );
}
