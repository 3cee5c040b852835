// The same works under OCM's own agent in one cluster and under the gateway in another: objects, status and records
// must be equal, less what two clusters cannot have in common and what docs/reference/ocm-agent.md lists.
import { after, before, test } from 'node:test';
import { SideBySide } from './side-by-side.ts';
import { workCases } from './work-cases.ts';

let sides: SideBySide | undefined;

before(async () => {
  sides = await SideBySide.start();
});

after(() => sides?.stop());

for (const given of workCases)
  test(`the same under OCM’s agent and under the gateway: ${given.says}`, () => sides!.compare(given));
