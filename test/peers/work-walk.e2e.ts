// 500 random changes of works and of their objects, under OCM's own agent and under the gateway: after each round of
// some ten of them objects, records and status are the same. PORTCULLIS_WALK_SEED gives another walk,
// PORTCULLIS_WALK_CHANGES a longer one.
import { after, before, test } from 'node:test';
import { SideBySide } from './side-by-side.ts';
import type { WorkCase } from './work-cases.ts';
import { has, widgets, type Step } from './work-steps.ts';
import { WorkWalk } from './work-walk.ts';

const seed = Number(process.env['PORTCULLIS_WALK_SEED'] ?? 1);
const changes = Number(process.env['PORTCULLIS_WALK_CHANGES'] ?? 500);

/** The gateway puts right at once what others change or delete, the agent with the next change of the work. */
const isOneWriteMore = (difference: string): boolean =>
  /\/(?:[a-z.]+\.)?generation: "?\d+"?, "?\d+"?$/.test(difference);

let sides: SideBySide | undefined;

before(async () => {
  sides = await SideBySide.start();
});

after(() => sides?.stop());

test(`works are the same under both all along ${changes} random changes (seed ${seed})`, async () => {
  const walk = new WorkWalk(seed);
  const { works, objects } = walk;
  const prepared = [has(widgets()), has(...walk.found)];
  await sides!.compare({ says: 'what is there before', works: [], objects, steps: prepared });
  const steps: Step[] = [walk.start()];
  while (walk.changes < changes) steps.push(walk.round());
  const given: WorkCase = { says: 'the walk', works, objects, steps };
  await sides!.compare(given, isOneWriteMore);
});
