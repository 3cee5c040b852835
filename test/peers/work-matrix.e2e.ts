// Objects of many kinds under each strategy of a work: made, changed, with less, reordered, changed by somebody else
// and deleted. Under OCM's own agent and under the gateway the objects, records and status are the same in the end, but
// for what docs/reference/ocm-agent.md names.
import { after, before, test } from 'node:test';
import type { Json } from '../e2e/distribute/works-site.ts';
import { patch } from '../e2e/distribute/works-site.ts';
import { SideBySide } from './side-by-side.ts';
import type { WorkCase } from './work-cases.ts';
import { matrixKinds, type MatrixKind } from './work-matrix.ts';
import type { Side } from './work-picture.ts';
import { has, widgets, without, work, type Step } from './work-steps.ts';

let sides: SideBySide | undefined;

before(async () => {
  sides = await SideBySide.start();
  await sides.compare({ says: 'the kind of a custom resource', works: [], objects: [], steps: [has(widgets())] });
});

after(() => sides?.stop());

const strategies: Readonly<Record<string, Json>> = {
  Update: undefined,
  ServerSideApply: { type: 'ServerSideApply', serverSideApply: { force: true } },
  CreateOnly: { type: 'CreateOnly' },
  ReadOnly: { type: 'ReadOnly' },
};

const nameOf = ({ resource }: MatrixKind, strategy: string): string => `matrix-${resource}-${strategy}`.toLowerCase();

function objectOf(each: MatrixKind, strategy: string, state: number): Json {
  const { apiVersion, kind, isNamespaced, states } = each;
  const name = nameOf(each, strategy);
  return { apiVersion, kind, metadata: { name, ...(isNamespaced && { namespace: 'ns1' }) }, ...states[state] };
}

function pathOf(each: MatrixKind, strategy: string): string {
  const { apiVersion, resource, isNamespaced } = each;
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${root}/${isNamespaced ? 'namespaces/ns1/' : ''}${resource}/${nameOf(each, strategy)}`;
}

/** Somebody puts a label on every object. The agent does not notice it before the work changes. */
function labelled(strategy: string): Step {
  const body = { metadata: { labels: { theirs: 'x' }, annotations: { theirs: 'x' } } };
  const act = async ({ member }: Side): Promise<void> => {
    for (const each of matrixKinds) await patch(member, pathOf(each, strategy), body);
  };
  return { act, isNoticedLate: true };
}

function caseOf(strategy: string): WorkCase {
  const name = `matrix-${strategy}`.toLowerCase();
  const updateStrategy = strategies[strategy];
  const identifiers = matrixKinds.map(({ apiVersion, resource, isNamespaced }) => ({
    group: apiVersion.includes('/') ? apiVersion.split('/')[0] : '',
    ...{ resource, name: '*', namespace: isNamespaced ? 'ns1' : '' },
  }));
  const manifestConfigs = identifiers.map((resourceIdentifier) => ({ resourceIdentifier, updateStrategy }));
  const spec = updateStrategy === undefined ? {} : { manifestConfigs };
  const given = (state: number): Step =>
    work(
      name,
      matrixKinds.map((each) => objectOf(each, strategy, state)),
      spec,
    );
  return {
    says: strategy,
    works: [name],
    objects: matrixKinds.map((each) => pathOf(each, strategy)),
    steps: [
      ...(strategy === 'ReadOnly' ? [has(...matrixKinds.map((each) => objectOf(each, strategy, 0)))] : []),
      ...[given(0), given(1), given(2), given(3), labelled(strategy), given(1), without(name)],
    ],
  };
}

/** The agent does not write `immutable` into a Secret that is there. */
const isExcused = (difference: string): boolean => /\/secrets\/[^/]*\/immutable: /.test(difference);

for (const strategy of Object.keys(strategies))
  test(`objects of ${matrixKinds.length} kinds are the same under both in every state, by ${strategy}`, () =>
    sides!.compare(caseOf(strategy), isExcused));
