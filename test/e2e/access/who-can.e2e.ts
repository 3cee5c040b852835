// Random RBAC in three real members, and random questions about it: who-can and what-can must say what each member
// itself answers to an access review. Nothing here knows how the index reads RBAC; the members judge.
// Landing tier: who may do what, as each cluster decides.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { User } from '../../../model/user.ts';
import { outgoingUser } from '../../../auth/rules/impersonation.ts';
import { inParallel } from '../index/index-rights-member.ts';
import type { Asked, AskedPath, RightsMember } from '../index/index-rights-member.ts';
import { pickingFor } from '../index/index-rights-world.ts';
import { root, startAccessSite } from './access-site.ts';
import type { AccessAnswer, AccessRow, AccessRule, AccessSite, Query, Subject } from './access-site.ts';
import { drawOpenQuestion, drawQuestion, requestsOf } from './access-world.ts';
import type { OpenQuestion } from './access-world.ts';

const questionCount = Number(process.env['PORTCULLIS_ACCESS_QUESTIONS'] ?? 1_000);
const seed = Number(process.env['PORTCULLIS_ACCESS_SEED'] ?? 5);
const userCount = 40;
const pickFor = pickingFor(seed);

let site: AccessSite;
let members: readonly RightsMember[];

before(async () => {
  site = await startAccessSite({ members: ['m1', 'm2', 'm3'], users: userCount, seed });
  ({ members } = site);
});

after(async () => {
  await site?.stop();
});

const isPath = (asked: Asked | AskedPath): asked is AskedPath => 'path' in asked;

function queryOf(asked: Asked | AskedPath): Query {
  if (isPath(asked)) return { verb: asked.verb, path: asked.path };
  const { verb, type, subresource, namespace, name } = asked;
  return { verb, group: type.group, resource: type.resource, subresource, namespace, name };
}

/**
 * Whether this is the user, or a group that the user's requests have in a cluster. The gateway sends exactly the user's
 * groups: a ServiceAccount that comes without its own is not given them.
 */
function isSubject({ name, groups }: User, subject: Subject | undefined): boolean {
  const [, home, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name) ?? [];
  switch (subject?.kind) {
    case 'User':
      return subject.name === name;
    case 'ServiceAccount':
      return subject.namespace === home && subject.name === account;
    case 'Group':
      return groups.includes(subject.name);
    default:
      return false;
  }
}

/** Whether a rule of an answer covers the request, in the words of Kubernetes' documentation of RBAC. */
function covers({ namespace, rule }: AccessRow, asked: Asked | AskedPath): boolean {
  const has = (items: readonly string[] | undefined, value: string): boolean =>
    items !== undefined && (items.includes('*') || items.includes(value));
  if (!has(rule.verbs, asked.verb)) return false;
  if (isPath(asked)) return namespace === undefined && coversPath(rule, asked.path);
  const { type, subresource = '', name } = asked;
  if (namespace !== undefined && namespace !== asked.namespace) return false;
  const whole = subresource === '' ? type.resource : `${type.resource}/${subresource}`;
  const isOfAny = subresource !== '' && rule.resources?.includes(`*/${subresource}`) === true;
  if (!has(rule.apiGroups, type.group) || !(isOfAny || has(rule.resources, whole))) return false;
  return rule.resourceNames === undefined || rule.resourceNames.includes(name);
}

function coversPath({ nonResourceURLs = [] }: AccessRule, path: string): boolean {
  return nonResourceURLs.some((url) => (url.endsWith('*') ? path.startsWith(url.replace(/\*+$/, '')) : url === path));
}

const isMaster = ({ groups }: User): boolean => groups.includes('system:masters');

interface Tally {
  asked: number;
  allowed: number;
}

/** Names what differs; asserts that answers lack nothing. */
class Differences {
  readonly found: string[] = [];

  add(what: object): void {
    this.found.push(JSON.stringify(what));
  }

  none(): void {
    assert.equal(this.found.length, 0, `${this.found.length} with seed ${seed}:\n${this.found.slice(0, 8).join('\n')}`);
  }
}

/** Both answers about some users, each asked once: by somebody who may read everything, and by the user. */
async function rightsOf(user: User): Promise<readonly (readonly [string, AccessAnswer])[]> {
  // As the Impersonate-Group headers of the user's requests: an API server adds to them what it adds to those.
  const { groups } = outgoingUser(user);
  const reported = await site.asked(root.token, 'whatcan', {
    user: user.name,
    groups: groups.length === 0 ? '' : groups,
  });
  const own = await site.asked(site.tokenOf(user), 'whatcan', {});
  assert.deepEqual(reported.incomplete, [], user.name);
  return [
    ['what-can', reported],
    ['what-can about oneself', own],
  ];
}

/** Asks this many random questions of who-can, what-can and each member. */
async function compare(count: number, round: string): Promise<Tally> {
  const differences = new Differences();
  const tally: Tally = { asked: 0, allowed: 0 };
  const rights = new Map<User, Awaited<ReturnType<typeof rightsOf>>>();
  await inParallel(site.users, async (user) => void rights.set(user, await rightsOf(user)), 4);
  const numbers = Array.from({ length: count }, (_, index) => index);
  await inParallel(numbers, async (number) => {
    const pick = pickFor(round, String(number));
    const user = pick(site.users);
    const asked = drawQuestion(pick);
    const who = await site.asked(root.token, 'whocan', queryOf(asked));
    assert.deepEqual(who.incomplete, []);
    assert.deepEqual(who.unrestricted, [{ kind: 'Group', name: 'system:masters' }]);
    for (const member of members) {
      const { name: cluster } = member;
      const expected = await member.isAllowed(outgoingUser(user), asked);
      tally.asked += 1;
      if (expected) tally.allowed += 1;
      const rows = who.items.filter((row) => row.cluster === cluster);
      const about = { cluster, user: user.name, groups: user.groups, asked, expected };
      if ((isMaster(user) || rows.some(({ subject }) => isSubject(user, subject))) !== expected)
        differences.add({ by: 'who-can', ...about });
      for (const [by, { items, unrestrictedIn = [] }] of rights.get(user)!) {
        const may =
          unrestrictedIn.includes(cluster) || items.some((row) => row.cluster === cluster && covers(row, asked));
        if (may !== expected) differences.add({ by, ...about });
      }
    }
  });
  differences.none();
  // Questions that are nearly all allowed, or nearly all refused, would prove little.
  assert.ok(tally.allowed > tally.asked / 50 && tally.allowed < (tally.asked * 9) / 10, JSON.stringify(tally));
  return tally;
}

function reported(text: string): void {
  process.stderr.write(`${text}, ${members.reduce((sum, member) => sum + member.asked(), 0)} questions to members\n`);
}

describe('who-can and what-can say what the members say', () => {
  test(`to ${Math.ceil(questionCount / 2)} random questions`, async () => {
    const { asked, allowed } = await compare(Math.ceil(questionCount / 2), 'first');
    reported(`${asked} answers compared, ${allowed} allowed`);
  });

  test(`to ${Math.floor(questionCount / 2)} more, after roles and bindings have changed`, async () => {
    await site.change('second');
    const { asked, allowed } = await compare(Math.floor(questionCount / 2), 'second');
    reported(`${asked} answers compared after changes, ${allowed} allowed`);
  });

  test('to questions about any name or any namespace, which one request of those they stand for allows', async () => {
    const differences = new Differences();
    const numbers = Array.from({ length: Math.ceil(questionCount / 20) }, (_, index) => index);
    await inParallel(numbers, async (number) => {
      const pick = pickFor('open', String(number));
      const user = pick(site.users);
      const open: OpenQuestion = drawOpenQuestion(pick);
      const { name, namespace, ...query } = queryOf(open.asked);
      const who = await site.asked(root.token, 'whocan', {
        ...query,
        name: open.anyName ? undefined : name,
        namespace: open.anyNamespace ? undefined : namespace,
      });
      for (const member of members) {
        const rows = who.items.filter(({ cluster }) => cluster === member.name);
        const answers: boolean[] = [];
        for (const asked of requestsOf(open)) answers.push(await member.isAllowed(outgoingUser(user), asked));
        const expected = answers.includes(true);
        if ((isMaster(user) || rows.some(({ subject }) => isSubject(user, subject))) !== expected)
          differences.add({ cluster: member.name, user: user.name, groups: user.groups, open, expected });
      }
    });
    differences.none();
  });
});
