// Label and native field selectors select what a real kube-apiserver selects, and labels are refused in its words. Odd
// ones are asked as well: `x in ()`, `a,`, `!in`, keys and values that are no labels, fields that are missing.
// Landing tier: questions mean what they mean to a cluster.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { GatewayError } from '../../../model/errors.ts';
import { parseLabelSelector } from '../../../query/selectors/label-selector.ts';
import { allOf, type LabelRequirement } from '../../../query/list-query.ts';
import { compileMatcher } from '../../../query/match.ts';
import { urlParameters } from '../../../query/parameters.ts';
import { readQuery } from '../../../query/read/read-query.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';

const path = '/api/v1/namespaces/default/configmaps';
const labelSets: readonly Readonly<Record<string, string>>[] = [
  {},
  { app: 'web' },
  { app: 'web', env: 'prod', n: '10' },
  { app: 'db', env: '', n: '9' },
  { app: 'in', in: 'notin', n: '-1x' },
  { 'x.io/app': 'web', n: '007' },
  { n: '9223372036854775807' },
  { n: '9223372036854775808', notin: 'in' },
];

let plane: ControlPlane;
let member: Member;

before(async () => {
  plane = await startControlPlane({ members: ['m1'], audit: false });
  member = plane.member('m1');
  const account = { metadata: { name: 'default', namespace: 'default' } };
  await member.request('POST', '/api/v1/namespaces/default/serviceaccounts', account);
  for (const [i, labels] of labelSets.entries()) {
    const valid = Object.fromEntries(Object.entries(labels).filter(([, value]) => !value.startsWith('-')));
    const metadata = { name: `c${i}`, labels: valid };
    const { status, body } = await member.request('POST', path, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
    assert.equal(status, 201, body);
  }
});

after(() => plane?.stop());

interface Named {
  readonly metadata: { readonly name: string };
}

/** What the member makes of a label selector: names, or its refusal. */
async function memberAnswer(selector: string): Promise<readonly string[] | string> {
  const { body } = await member.request('GET', `${path}?labelSelector=${encodeURIComponent(selector)}`);
  const answer = JSON.parse(body) as {
    readonly items?: readonly Named[];
    readonly message?: string;
    readonly code?: number;
  };
  return answer.items?.map(({ metadata }) => metadata.name) ?? `${answer.code} ${answer.message}`;
}

function ourAnswer(selector: string, all: readonly Named[]): readonly string[] | string {
  let labels: readonly LabelRequirement[];
  try {
    labels = parseLabelSelector(selector);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return `${error.status} ${error.message}`;
  }
  const matcher = compileMatcher({ ...allOf({ group: '', resource: 'configmaps' }), labels });
  const key = { cluster: 'm1', type: 'configmaps.', namespace: 'default' };
  return all
    .filter((object) => matcher(object, { ...key, name: object.metadata.name }))
    .map(({ metadata }) => metadata.name);
}

const chosen = [
  ...[
    '',
    ' ',
    'app',
    '!app',
    'app=web',
    'app==web',
    'app!=web',
    'env=',
    'env==',
    'env!=',
    'app in (web,db)',
    'app notin (web)',
    'env in ()',
  ],
  ...[
    'env in (,)',
    'env in (,prod)',
    'env in (prod,)',
    'env in (prod,,x)',
    'env notin ()',
    'x.io/app=web',
    'n>9',
    'n<10',
    'n>8,n<11',
    'n > 6',
  ],
  ...[
    'n>9223372036854775806',
    'n>9223372036854775808',
    'n<-1',
    'in',
    '!in',
    'in in (notin)',
    'in=notin',
    'notin',
    'app=in',
    'app in (in)',
    'notin notin (x)',
  ],
  ...[
    'a,',
    ',a',
    'a,,b',
    'a b',
    'a in b',
    'a in (b',
    'a in (b c)',
    'a in',
    'a=b=c',
    'a===b',
    'a=!b',
    '!a=b',
    '!!a',
    '!',
    'a>b',
    'a>',
    'a<1.5',
    '(a)',
    'a)',
    'a in (=)',
  ],
  ...[
    'a_',
    '_a',
    'a/b/c',
    '/a',
    'a/',
    'A.b/c',
    'a..b/c',
    `${'a'.repeat(64)}`,
    `${'a'.repeat(254)}/b`,
    'a=b_',
    `a=${'b'.repeat(64)}`,
    'a=é',
    'é',
    'a in (b_,c_)',
  ],
  ...[
    'a="b"',
    "a='b'",
    'a=b\\,c',
    'a~b',
    'a||b',
    'a\tin\n(b)',
    'a=b,c in (d),!e,f',
    'a\u0001',
    'a=b\u0001',
    'a in (b,c_,d)',
  ],
];

/** Selectors made of pieces, always the same ones. */
function assembled(count: number): readonly string[] {
  const pieces = [
    'app',
    'env',
    'n',
    'in',
    'notin',
    'web',
    '10',
    '=',
    '==',
    '!=',
    '!',
    '>',
    '<',
    '(',
    ')',
    ',',
    ' ',
    'x.io/app',
    '-',
    '',
  ];
  let state = 20_260_101;
  const next = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % limit;
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + next(9) }, () => pieces[next(pieces.length)]).join(''),
  );
}

test('label selectors select what the member selects, and are refused in its words', async (context) => {
  const { body } = await member.request('GET', path);
  const all = (JSON.parse(body) as { items: readonly Named[] }).items;
  const outcomes = { selected: 0, refused: 0 };
  for (const selector of [...chosen, ...assembled(250)]) {
    const theirs = await memberAnswer(selector);
    assert.deepEqual(ourAnswer(selector, all), theirs, JSON.stringify(selector));
    outcomes[typeof theirs === 'string' ? 'refused' : 'selected'] += 1;
  }
  context.diagnostic(JSON.stringify(outcomes));
  assert.ok(outcomes.selected > 50 && outcomes.refused > 50);
});

interface FieldCase {
  readonly path: string;
  readonly resource: string;
  readonly objects: readonly object[];
  readonly selectors: readonly string[];
}

const containers = [{ name: 'c', image: 'i' }];
const about = { kind: 'Pod', namespace: 'default', name: 'p' };

const fieldCases: readonly FieldCase[] = [
  {
    path: '/api/v1/namespaces/default/pods',
    resource: 'pods',
    objects: [
      { metadata: { name: 'free' }, spec: { containers } },
      { metadata: { name: 'bound' }, spec: { containers, nodeName: 'n1' } },
      { metadata: { name: 'host' }, spec: { containers, nodeName: 'n2', hostNetwork: true, restartPolicy: 'Never' } },
    ],
    selectors: [
      ...[
        'spec.nodeName=',
        'spec.nodeName!=',
        'spec.nodeName=n1',
        'spec.nodeName!=n1',
        'spec.nodeName==n1',
        'spec.host=n2',
        'status.podIP=',
        'status.podIP!=',
      ],
      ...[
        'spec.hostNetwork=true',
        'spec.hostNetwork=false',
        'spec.hostNetwork!=false',
        'spec.hostNetwork!=true',
        'status.nominatedNodeName=',
        'status.phase=Pending',
      ],
      ...[
        'metadata.name=free',
        'metadata.name!=free',
        'metadata.namespace=default',
        'metadata.namespace!=default',
        'metadata.name=free,spec.nodeName=',
        '',
      ],
      ...[
        'spec.restartPolicy=Never',
        'spec.restartPolicy!=Never',
        'status.phase!=Pending,spec.nodeName=n1',
        'metadata.name=',
      ],
    ],
  },
  {
    path: '/api/v1/namespaces/default/events',
    resource: 'events',
    objects: [
      {
        metadata: { name: 'old' },
        involvedObject: about,
        reason: 'Pulled',
        type: 'Normal',
        source: { component: 'kubelet' },
      },
      {
        metadata: { name: 'new' },
        involvedObject: { ...about, fieldPath: 'spec' },
        reason: 'Done',
        type: 'Warning',
        reportingComponent: 'x.io/c',
      },
      { metadata: { name: 'bare' }, involvedObject: { namespace: 'default' } },
    ],
    selectors: [
      ...[
        'source=kubelet',
        'source=x.io/c',
        'source!=kubelet',
        'source=',
        'source!=',
        'type=Warning',
        'type!=Normal',
        'type=',
        'reason=',
        'reason!=Done',
      ],
      ...[
        'involvedObject.name=p',
        'involvedObject.name=',
        'involvedObject.kind=Pod,reason=Done',
        'involvedObject.fieldPath=',
        'reportingComponent=x.io/c',
      ],
    ],
  },
  {
    path: '/api/v1/nodes',
    resource: 'nodes',
    objects: [{ metadata: { name: 'n1' } }, { metadata: { name: 'n2' }, spec: { unschedulable: true } }],
    selectors: [
      '',
      'spec.unschedulable=true',
      'spec.unschedulable=false',
      'spec.unschedulable!=true',
      'metadata.name=n1',
    ],
  },
];

for (const { path: at, resource, objects, selectors } of fieldCases) {
  test(`native field selectors of ${resource} select what the member selects`, async () => {
    for (const object of objects) {
      const { status, body } = await member.request('POST', at, object);
      assert.equal(status, 201, body);
    }
    const all = (
      JSON.parse((await member.request('GET', at)).body) as {
        items: readonly (Named & { metadata: { namespace?: string } })[];
      }
    ).items;
    const outcomes = new Set<number>();
    for (const selector of selectors) {
      const parameter = `fieldSelector=${encodeURIComponent(selector)}`;
      const { status, body } = await member.request('GET', `${at}?${parameter}`);
      assert.equal(status, 200, body);
      const theirs = (JSON.parse(body) as { items: readonly Named[] }).items.map(({ metadata }) => metadata.name);
      const { query } = readQuery(urlParameters(parameter), { types: [{ group: '', resource }] });
      const matcher = compileMatcher(query);
      const ours = all.filter((object) => {
        const { name, namespace = '' } = object.metadata;
        return matcher(object, { cluster: 'm1', type: `${resource}.`, namespace, name });
      });
      assert.deepEqual(
        ours.map(({ metadata }) => metadata.name),
        theirs,
        selector,
      );
      outcomes.add(theirs.length);
    }
    assert.ok(outcomes.size > 1, 'some selectors select more than others');
  });
}
