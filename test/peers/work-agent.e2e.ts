// The same works under OCM's own agent in one cluster and under the gateway in another: objects, status and records
// must be equal, less what two clusters cannot have in common and what docs/reference/ocm-agent.md lists.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Child } from '../controlplane/processes.ts';
import { binding, clusterRole, startWorksSite, type WorksSite } from '../e2e/distribute/works-site.ts';
import { waitFor } from '../site/polling.ts';
import { startWorkAgent } from './ocm.fixture.ts';
import { workCases, type WorkCase } from './work-cases.ts';
import { differences, isSettled, takePicture, type Side } from './work-picture.ts';

/** After which two pictures that still differ count as different; the agent waits ever longer after a fault. */
const patienceMs = 90_000;
let site: WorksSite;
let agent: Child | undefined;
/** OCM's agent, and the gateway. */
let theirs: Side;
let ours: Side;

before(async () => {
  // Without controllers in the clusters, the tests alone write the status of objects.
  site = await startWorksSite({ members: ['m1', 'm2'], unchosen: ['m1'], controllerManager: false });
  const { hub, hubHash } = site;
  const [m1, m2] = site.members;
  agent = await startWorkAgent(hub, m1!);
  theirs = { hub, hubHash, member: m1! };
  ours = { hub, hubHash, member: m2! };
  for (const { member } of [theirs, ours]) await member.apply(...executorRights());
});

after(async () => {
  await agent?.stop();
  await site?.stop();
});

function executorRights(): readonly object[] {
  const all = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
  const rules = {
    reader: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
    half: [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: all, resourceNames: ['half1'] },
    ],
    'no-delete': [{ apiGroups: [''], resources: ['configmaps'], verbs: all.filter((verb) => verb !== 'delete') }],
  };
  return Object.entries(rules).flatMap(([name, given]) => [
    clusterRole(`executor-${name}`, given),
    binding(`executor-${name}`, `executor-${name}`, { kind: 'ServiceAccount', name, namespace: 'executors' }),
  ]);
}

async function areSame(given: WorkCase, index: number): Promise<void> {
  const { shows = '', isNoticedLate = false } = given.steps[index]!;
  const deadline = performance.now() + patienceMs;
  let found: readonly string[] = [];
  await waitFor(async () => {
    const [theirPicture, ourPicture] = await Promise.all([takePicture(theirs, given), takePicture(ours, given)]);
    found = isNoticedLate ? [] : differences(theirPicture, ourPicture);
    const settled = await Promise.all([isSettled(theirs, given), isSettled(ours, given)]);
    if (!settled.every(Boolean)) found = [...found, `settled: ${settled.join(', ')}`];
    if (!JSON.stringify(ourPicture).includes(shows)) found = [...found, `does not show ${shows}`];
    return found.length === 0 || performance.now() > deadline;
  }, 200);
  assert.deepEqual(found, [], `after step ${index + 1}, as path: theirs, ours\n${(await agent?.tail(8)) ?? ''}`);
}

for (const given of workCases)
  test(`the same under OCM’s agent and under the gateway: ${given.says}`, async () => {
    for (const [index, step] of given.steps.entries()) {
      await Promise.all([step.act(theirs), step.act(ours)]);
      await areSame(given, index);
    }
  });
