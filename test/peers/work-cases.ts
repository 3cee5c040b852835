// Works that OCM's agent and the gateway execute beside each other: each case is a few steps, after each of which both
// clusters must look the same.
import { configFor, configMap, configMapPath } from '../e2e/distribute/works-site.ts';
import type { Shown } from './work-picture.ts';
import {
  configs,
  containers,
  deployment,
  deploymentPath,
  has,
  inNs1,
  job,
  kinds,
  maps,
  merged,
  metadata,
  role,
  roleBinding,
  secret,
  serverSide,
  service,
  status,
  strategy,
  taken,
  widget,
  widgets,
  without,
  work,
  type Step,
} from './work-steps.ts';

export interface WorkCase extends Shown {
  /** What is the same under both, as the name of a test. */
  readonly says: string;
  readonly steps: readonly Step[];
}

const basics: readonly WorkCase[] = [
  {
    says: 'objects, their owner, the record and the status of a work',
    works: ['plain'],
    objects: maps('plain1', 'plain2'),
    steps: [
      work('plain', [configMap('plain1', { a: '1' }), configMap('plain2')], {}, { labels: { app: 'x' } }),
      work('plain', [configMap('plain2', { b: '2' }), configMap('plain1', { a: '2' })]),
      work('plain', [configMap('plain2', { b: '2' })]),
      without('plain'),
    ],
  },
  {
    says: 'a manifest whose namespace is missing, and the work once it is there',
    works: ['partly'],
    objects: [...maps('partly1'), configMapPath('lost', 'later')],
    steps: [
      work('partly', [configMap('lost', {}, { namespace: 'later' }), configMap('partly1')]),
      has({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'later' } }),
    ],
  },
  {
    says: 'a custom resource before its definition, changed later',
    works: ['custom'],
    objects: [inNs1('/apis/example.com/v1/ns1/widgets/w1')],
    steps: [
      work('custom', [widget({ a: 1, b: { c: 1 } }), widgets()]),
      work('custom', [widget({ b: { d: 1 } }), widgets()]),
    ],
  },
  {
    says: 'a kind that the cluster does not have',
    works: ['unknown'],
    objects: maps('unknown1'),
    hasRecords: false,
    steps: [
      work('unknown', [{ apiVersion: 'no.such/v1', kind: 'Nothing', metadata: metadata('n') }, configMap('unknown1')]),
    ],
  },
  {
    says: 'a UID and a namespace that do not belong there, and labels and annotations of others',
    works: ['odd'],
    objects: [...maps('odd'), '/apis/rbac.authorization.k8s.io/v1/clusterroles/peer-role'],
    steps: [
      has(configMap('odd', { theirs: '1' }, { labels: { foo: 'x', keep: 'y' }, annotations: { a: 'b' } })),
      work('odd', [
        configMap('odd', { a: '1' }, { uid: 'a72b1fd2-0000-4000-8000-000000000000', labels: { foo: 'y', bar: 'z' } }),
        { ...role([]), metadata: { name: 'peer-role', namespace: 'ns1' } },
      ]),
    ],
  },
];

const kindsOfUpdate: readonly WorkCase[] = [
  {
    says: 'an updated Deployment',
    works: ['deploy'],
    objects: [deploymentPath('deploy')],
    steps: [
      work('deploy', [deployment('deploy', { replicas: 2, minReadySeconds: 5 })]),
      work('deploy', [deployment('deploy', { replicas: 3 })]),
    ],
  },
  {
    says: 'an updated Service, Secret and ClusterRole',
    works: ['typed'],
    objects: [
      inNs1('/api/v1/ns1/services/svc'),
      inNs1('/api/v1/ns1/secrets/sec'),
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/peer-role',
    ],
    steps: [
      work('typed', [service(80), secret('1'), role([{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }])]),
      work('typed', [service(81), secret('2'), role([{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }])]),
    ],
  },
  {
    says: 'a field that cannot be changed',
    works: ['fixed'],
    objects: maps('fixed'),
    steps: [
      work('fixed', [roleBinding('view'), configMap('fixed')]),
      work('fixed', [roleBinding('edit'), configMap('fixed', { a: '1' })]),
    ],
  },
];

const strategies: readonly WorkCase[] = [
  {
    says: 'CreateOnly',
    works: ['only'],
    objects: maps('made', 'found'),
    steps: [
      has(configMap('found', { a: 'theirs' })),
      ...['1', '2'].map((a) =>
        work(
          'only',
          [configMap('made', { a }), configMap('found', { a })],
          configs(configFor('*', strategy('CreateOnly'))),
        ),
      ),
    ],
  },
  {
    says: 'ReadOnly, with a name of "*", and its deletion',
    works: ['reader'],
    objects: maps('seen1', 'seen2'),
    steps: [
      has(configMap('seen1', { test: 'one' }), configMap('seen2')),
      work(
        'reader',
        [configMap('seen1'), configMap('seen2'), configMap('seen3')],
        configs(
          configFor('*', {
            ...strategy('ReadOnly'),
            feedbackRules: [{ type: 'JSONPaths', jsonPaths: [{ name: 'value', path: '.data.test' }] }],
          }),
        ),
      ),
      merged(configMapPath('seen1'), { data: { test: 'two' } }, '"string":"two"'),
      without('reader'),
    ],
  },
  {
    says: 'server-side apply, a conflict, and the manifest without the field',
    works: ['ssa'],
    objects: [deploymentPath('ssa')],
    steps: [
      work('ssa', [deployment('ssa', { replicas: 1 })], serverSide('ssa')),
      taken(deploymentPath('ssa'), 'somebody', { spec: { replicas: 3 } }, '"replicas":3'),
      work('ssa', [deployment('ssa', { replicas: 2 })], serverSide('ssa')),
      work('ssa', [deployment('ssa', {})], serverSide('ssa')),
    ],
  },
  {
    says: 'two works of which one forces a field from the other',
    works: ['manager1', 'manager2'],
    objects: [deploymentPath('two')],
    steps: [
      work('manager1', [deployment('two', { replicas: 1 })], serverSide('two')),
      work(
        'manager2',
        [deployment('two', { replicas: 2 })],
        serverSide('two', { force: true, fieldManager: 'work-agent-another' }),
        { isNoticedLate: true },
      ),
      work('manager1', [deployment('two', { replicas: 1, minReadySeconds: 5 })], serverSide('two')),
    ],
  },
  ...[
    { condition: 'OnSpokePresent', name: 'present' },
    { condition: 'OnSpokeChange', name: 'change' },
  ].map(({ condition, name }): WorkCase => {
    const option = { force: true, ignoreFields: [{ condition, jsonPaths: ['.spec.replicas'] }] };
    const given = (replicas: number): Step => work(name, [deployment(name, { replicas })], serverSide(name, option));
    return {
      says: `fields that are ignored ${condition}`,
      works: [name],
      objects: [deploymentPath(name)],
      steps: [given(1), merged(deploymentPath(name), { spec: { replicas: 4 } }, '"replicas":4'), given(2)],
    };
  }),
];

const wellKnown = { feedbackRules: [{ type: 'WellKnownStatus' }] };
const paths = (...jsonPaths: readonly object[]): object => ({ feedbackRules: [{ type: 'JSONPaths', jsonPaths }] });
const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata('sa') };
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: metadata('p1'), spec: { containers, restartPolicy: 'Never' } };
const rule = (condition: string, expression: string, more: object = {}): object => ({
  condition,
  type: 'CEL',
  celExpressions: [expression],
  ...more,
});
const complete = { conditionRules: [{ condition: 'Complete', type: 'WellKnownConditions' }] };

const feedback: readonly WorkCase[] = [
  {
    says: 'the well-known numbers of a Deployment, and of a kind that has none',
    works: ['numbers'],
    objects: [],
    steps: [
      work(
        'numbers',
        [deployment('numbers'), account],
        configs(configFor('numbers', wellKnown, kinds.deployment), configFor('sa', wellKnown, kinds.account)),
      ),
      status(
        deploymentPath('numbers'),
        { observedGeneration: 1, replicas: 2, readyReplicas: 1, availableReplicas: 1 },
        '"integer":2',
      ),
    ],
  },
  {
    says: 'paths to lists, to nothing, of other versions, and of two entries',
    works: ['entries'],
    objects: [],
    steps: [
      work(
        'entries',
        [deployment('listed'), configMap('entry1', { a: '1' }), configMap('other', { a: '2' })],
        configs(
          configFor(
            'listed',
            paths({ name: 'spec', path: '.spec.template' }, { name: 'replicas', path: '.spec.replicas' }),
            kinds.deployment,
          ),
          configFor('*1', paths({ name: 'missing', path: '.data.nothing' }, { name: 'found', path: '.data.a' })),
          configFor('entry1', paths({ name: 'second', path: '.data.a' })),
          configFor(
            'other',
            paths({ name: 'beta', path: '.data.a', version: 'v2' }, { name: 'here', path: '.data.a' }),
          ),
        ),
      ),
    ],
  },
  {
    says: 'a Job and a Pod that complete a work',
    works: ['ends'],
    objects: maps('ends'),
    steps: [
      work(
        'ends',
        [job('j1'), pod, configMap('ends', { a: '1' })],
        configs(
          configFor('j1', { ...complete, ...wellKnown }, kinds.job),
          configFor('p1', { ...complete, ...wellKnown }, kinds.pod),
        ),
      ),
      status(inNs1('/api/v1/ns1/pods/p1'), { phase: 'Succeeded' }, '"string":"Succeeded"'),
    ],
  },
  {
    says: 'conditions by expressions, their messages and faults',
    works: ['rules'],
    objects: [],
    steps: [
      work(
        'rules',
        [configMap('rules', { a: 'yes' }), configMap('rules2', { a: 'no' })],
        configs(
          configFor('rules', {
            conditionRules: [
              rule('Holds', "object.data.a == 'yes'", {
                messageExpression: "result ? 'a is ' + object.data.a : 'no a'",
              }),
              rule('Fails', "object.data.a == 'no'", { message: 'said so' }),
              rule('Progressing', "object.data.a == 'yes'"),
            ],
          }),
          configFor('rules2', {
            conditionRules: [rule('Holds', "object.data.a == 'yes'"), rule('Progressing', "object.data.a == 'yes'")],
          }),
        ),
      ),
      work('rules', [configMap('rules', { a: 'no' }), configMap('rules2')], {}),
    ],
  },
];

const deletion: readonly WorkCase[] = [
  {
    says: 'Orphan, taken back, and the deletion of the work',
    works: ['orphan'],
    objects: maps('orphan'),
    steps: [
      work('orphan', [configMap('orphan')], { deleteOption: { propagationPolicy: 'Orphan' } }),
      work('orphan', [configMap('orphan')], { deleteOption: { propagationPolicy: 'Foreground' } }),
      work('orphan', [configMap('orphan')], { deleteOption: { propagationPolicy: 'Orphan' } }),
      without('orphan'),
    ],
  },
  {
    says: 'objects that a rule orphans',
    works: ['some'],
    objects: maps('some1', 'some2'),
    steps: [
      work('some', [configMap('some1'), configMap('some2')], {
        deleteOption: {
          propagationPolicy: 'SelectivelyOrphan',
          selectivelyOrphans: {
            orphaningRules: [{ group: '', resource: 'configmaps', namespace: 'ns1', name: 'some1' }],
          },
        },
      }),
      without('some'),
    ],
  },
  {
    says: 'an object of two works, with an owner of somebody else',
    works: ['share1', 'share2'],
    objects: maps('shared'),
    steps: [
      work('share1', [configMap('shared')]),
      work('share2', [configMap('shared')]),
      without('share1'),
      without('share2'),
    ],
  },
];

const as = (name: string): object => ({
  executor: { subject: { type: 'ServiceAccount', serviceAccount: { namespace: 'executors', name } } },
});

const executors: readonly WorkCase[] = [
  {
    says: 'an executor that may only read, and one with rights for one of two objects',
    works: ['reads', 'half'],
    objects: maps('reads1', 'half1', 'half2'),
    steps: [
      work('reads', [configMap('reads1')], as('reader')),
      work('half', [configMap('half1'), configMap('half2')], as('half')),
    ],
  },
  {
    says: 'an executor that may not delete, by what becomes of the objects',
    works: ['keeps', 'drops'],
    objects: maps('keeps', 'drops'),
    steps: [
      work('keeps', [configMap('keeps')], { ...as('no-delete'), deleteOption: { propagationPolicy: 'Orphan' } }),
      work('drops', [configMap('drops')], as('no-delete')),
    ],
  },
];

export const workCases = [...basics, ...kindsOfUpdate, ...strategies, ...feedback, ...deletion, ...executors];
