// Objects of many kinds under each strategy of a work: made, changed, with less, reordered, with large numbers, twice
// in one work, changed by somebody else, deleted, and not deleted because the cluster refuses it. Under OCM's own agent
// and under the gateway the objects, records and status are the same in the end, but for what
// docs/reference/ocm-agent.md names.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../e2e/distribute/works-site.ts';
import { eventually, patch, read, remove, workPath } from '../e2e/distribute/works-site.ts';
import { SideBySide } from './side-by-side.ts';
import type { WorkCase } from './work-cases.ts';
import { matrixConfigs, matrixKinds, matrixObject, matrixPath, matrixStrategies } from './work-matrix.ts';
import type { MatrixKind } from './work-matrix.ts';
import type { Side } from './work-picture.ts';
import { has, refusal, widgets, without, work, type Step } from './work-steps.ts';

let sides: SideBySide | undefined;

before(async () => {
  sides = await SideBySide.start();
  await sides.compare({ says: 'the kind of a custom resource', works: [], objects: [], steps: [has(widgets())] });
});

after(() => sides?.stop());

const nameOf = ({ resource }: MatrixKind, strategy: string): string => `matrix-${resource}-${strategy}`.toLowerCase();

const objectsIn = (strategy: string, state: number): Json[] =>
  matrixKinds.map((each) => matrixObject(each, nameOf(each, strategy), state));

const pathsOf = (strategy: string): string[] => matrixKinds.map((each) => matrixPath(each, nameOf(each, strategy)));

/** Somebody puts a label on every object. The agent does not notice it before the work changes. */
function labelled(strategy: string): Step {
  const body = { metadata: { labels: { theirs: 'x' }, annotations: { theirs: 'x' } } };
  const act = async ({ member }: Side): Promise<void> => {
    for (const path of pathsOf(strategy)) await patch(member, path, body);
  };
  return { act, isNoticedLate: true };
}

function caseOf(strategy: string): WorkCase {
  const name = `matrix-${strategy}`.toLowerCase();
  const given = (...states: readonly number[]): Step =>
    work(
      name,
      states.flatMap((state) => objectsIn(strategy, state)),
      matrixConfigs(matrixStrategies[strategy]),
    );
  return {
    says: strategy,
    works: [name],
    objects: pathsOf(strategy),
    steps: [
      ...(strategy === 'ReadOnly' ? [has(...objectsIn(strategy, 0))] : []),
      ...[given(0), given(1), given(2), given(4), given(2, 4), given(3)],
      ...[labelled(strategy), given(1), without(name)],
    ],
  };
}

/** The agent does not write `immutable` into a Secret that is there. */
const isExcused = (difference: string): boolean => /\/secrets\/[^/]*\/immutable: /.test(difference);

for (const strategy of Object.keys(matrixStrategies))
  test(`objects of ${matrixKinds.length} kinds are the same under both in every state, by ${strategy}`, () =>
    sides!.compare(caseOf(strategy), isExcused));

test('objects of all kinds stay under both where the cluster refuses to delete them, and the gateway tries again', async () => {
  const strategy = 'Refused';
  const name = 'matrix-refused';
  const objects = pathsOf(strategy);
  const made = work(name, objectsIn(strategy, 0));
  await sides!.compare({ says: 'made', works: [name], objects, steps: [made] });
  const refused = refusal('matrix-');
  await sides!.onBoth(({ member }) => refused.begin(member));
  await sides!.onBoth(({ hub, member }) => remove(hub, workPath(name, member.name)));
  const { theirs, ours } = sides!;
  // The agent lets go of the work; the gateway keeps it and says why.
  await eventually('the agent has ended', async () => (await read(theirs.hub, workPath(name, 'm1'))) === undefined);
  const reported = await eventually('the gateway tells of the refusal', async () => {
    const conditions = (await read(ours.hub, workPath(name, 'm2')))?.status?.conditions ?? [];
    return conditions.find((each: Json) => each.message.includes(refused.message));
  });
  assert.equal(reported.reason, 'DeletionFailed', JSON.stringify(reported));
  // No policy stands before the objects that admission itself consists of.
  const kept = objects.filter((path) => !path.includes('/admissionregistration.k8s.io/'));
  for (const path of kept)
    for (const { member } of [theirs, ours])
      assert.notEqual(await read(member, path), undefined, `${member.name}${path}`);
  await sides!.onBoth(({ member }) => refused.end(member));
  await eventually('the gateway has deleted them', async () => {
    const left = await Promise.all(objects.map((path) => read(ours.member, path)));
    return left.every((each) => each === undefined) && (await read(ours.hub, workPath(name, 'm2'))) === undefined;
  });
});
