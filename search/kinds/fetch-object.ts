// Reads one object by name. Several clusters may have an object of that name. If the path names no cluster, exactly one
// must have it among those that the caller may get.
import { GatewayError } from '../../model/errors.ts';
import type { RowRead } from '../../store/store.ts';
import type { FetchDependencies } from '../api/answer-dependencies.ts';
import type { ObjectsQuestion } from '../api/question.ts';
import type { RowsPlan } from './plan-types.ts';

/** When several clusters have the object, the message of the 409 error names at most this number of them. */
const mostNamed = 20;

/** What is read: the object that the path names, among the rows that the plan permits. */
export interface ObjectRead {
  readonly question: Pick<ObjectsQuestion, 'path'>;
  readonly plan: Pick<RowsPlan, 'query' | 'scope'>;
}

/**
 * Reads the object that a get by name requests.
 * @throws GatewayError (rejects) NOT_FOUND when there is no such object, CONFLICT when several clusters have one
 */
export async function fetchObject(
  { question: { path }, plan }: ObjectRead,
  { reads }: Pick<FetchDependencies, 'reads'>,
): Promise<RowRead> {
  const page = await reads.list(plan.query, plan.scope, { limit: mostNamed + 1 });
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
