// Counts rows and values. The index store counts only rows that the caller may see, because a count with other rows in
// it would reveal that they exist.
import type { FetchDependencies } from '../api/answer-dependencies.ts';
import { searchVersion } from '../catalog/catalog.ts';
import type { CountsQuestion, ValuesQuestion } from '../api/question.ts';
import type { Planned } from '../api/state.ts';
import type { RowsPlan } from './plan-types.ts';

export async function fetchCount(
  { plan }: Planned<CountsQuestion, unknown, RowsPlan>,
  { reads }: FetchDependencies,
): Promise<object> {
  const { count } = await reads.count(plan.query, plan.scope, 'refuse');
  return { kind: 'Counts', apiVersion: searchVersion, resources: resourcesOf(plan), count };
}

export async function fetchFacets(
  { question, plan }: Planned<ValuesQuestion, unknown, RowsPlan>,
  { reads }: FetchDependencies,
): Promise<object> {
  const { by, byText, limit } = question;
  const { counts: facets } = await reads.facets(plan.query, plan.scope, by, limit);
  return { kind: 'Facets', apiVersion: searchVersion, resources: resourcesOf(plan), by: byText, facets };
}

export async function fetchValues(
  { question, plan }: Planned<ValuesQuestion, unknown, RowsPlan>,
  { reads }: FetchDependencies,
): Promise<object> {
  const { by, byText, prefix, limit } = question;
  const { values } = await reads.values(plan.query, plan.scope, by, prefix, limit);
  return { kind: 'Values', apiVersion: searchVersion, resources: resourcesOf(plan), by: byText, values };
}

function resourcesOf({ views }: RowsPlan): readonly string[] {
  return views.map(({ type }) => `${type.resource}.${type.version}.${type.group}`);
}
