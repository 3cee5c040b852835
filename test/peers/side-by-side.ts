// Two clusters of one hub in which the same works are executed: by OCM's own agent in one, by the gateway in the other.
import assert from 'node:assert/strict';
import type { Child } from '../controlplane/processes.ts';
import { startWorksSite, type WorksSite } from '../e2e/distribute/works-site.ts';
import { waitFor } from '../site/polling.ts';
import { startWorkAgent } from './ocm.fixture.ts';
import type { WorkCase } from './work-cases.ts';
import { differences, isSettled, takePicture, type Side } from './work-picture.ts';
import type { Step } from './work-steps.ts';
import { accountSubject, grantedClusterRole } from '../site/rbac.ts';

/** After which two pictures that still differ count as different; the agent waits ever longer after a fault. */
const patienceMs = 90_000;

export class SideBySide {
  readonly #site: WorksSite;
  readonly #agent: Child;
  /** The cluster of OCM's agent, m1. */
  readonly theirs: Side;
  /** The cluster of the gateway, m2. */
  readonly ours: Side;

  private constructor(site: WorksSite, agent: Child) {
    const { hub, hubHash, members } = site;
    this.#site = site;
    this.#agent = agent;
    this.theirs = { hub, hubHash, member: members[0]! };
    this.ours = { hub, hubHash, member: members[1]! };
  }

  static async start(): Promise<SideBySide> {
    // Without controllers in the clusters, the tests alone write the status of objects.
    const site = await startWorksSite({ members: ['m1', 'm2'], unchosen: ['m1'], controllerManager: false });
    try {
      for (const member of site.members) await member.apply(...executorRights());
      return new SideBySide(site, await startWorkAgent(site.hub, site.members[0]!));
    } catch (error) {
      await site.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.#agent.stop();
    await this.#site.stop();
  }

  /**
   * Takes the steps of the case on both sides, and waits after each until both look the same.
   * @param isExcused says of a difference, as `path: theirs, ours`, whether it is one that the docs name
   */
  async compare(given: WorkCase, isExcused: (difference: string) => boolean = () => false): Promise<void> {
    for (const [index, step] of given.steps.entries()) {
      await this.onBoth(step.act);
      await this.#areSame(given, index, isExcused);
    }
  }

  /** Does the same in both clusters at once. */
  async onBoth(act: Step['act']): Promise<void> {
    await Promise.all([act(this.theirs), act(this.ours)]);
  }

  async #areSame(given: WorkCase, index: number, isExcused: (difference: string) => boolean): Promise<void> {
    const { says = '', shows = '', isNoticedLate = false } = given.steps[index]!;
    const { theirs, ours } = this;
    const deadline = performance.now() + patienceMs;
    let found: readonly string[] = [];
    await waitFor(async () => {
      const [theirPicture, ourPicture] = await Promise.all([
        takePicture(theirs, given, true),
        takePicture(ours, given),
      ]);
      found = isNoticedLate ? [] : differences(theirPicture, ourPicture).filter((each) => !isExcused(each));
      const settled = await Promise.all([isSettled(theirs, given), isSettled(ours, given)]);
      if (!settled.every(Boolean)) found = [...found, `settled: ${settled.join(', ')}`];
      if (!JSON.stringify(ourPicture).includes(shows)) found = [...found, `does not show ${shows}`];
      return found.length === 0 || performance.now() > deadline;
    }, 200);
    const after = `after step ${index + 1} ${says}, as path: theirs, ours`;
    assert.deepEqual(found, [], `${after}\n${await this.#agent.tail(8)}`);
  }
}

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
  return Object.entries(rules).flatMap(([name, given]) =>
    grantedClusterRole(`executor-${name}`, given, accountSubject('executors', name)),
  );
}
