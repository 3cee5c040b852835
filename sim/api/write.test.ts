import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, pod, simulate } from '../simulator.fixture.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const post = (body: unknown) => ({ method: 'POST', body });
const put = (body: unknown) => ({ method: 'PUT', body });
const patch = (body: unknown, type = 'application/merge-patch+json') => ({
  method: 'PATCH',
  body,
  headers: { 'content-type': type },
});
const deployment = (name: string, spec: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'nginx' }] } },
    ...spec,
  },
});

test('a created object has uid, time, version and namespace', async (t) => {
  const { ask } = await simulate(t, { now: () => new Date('2026-01-02T03:04:05.678Z') });
  const made = await ask(maps, post(configMap('a')));
  assert.equal(made.status, 201);
  const { uid, creationTimestamp, resourceVersion, namespace } = made.json.metadata;
  assert.match(uid, /^[0-9a-f-]{36}$/);
  assert.equal(creationTimestamp, '2026-01-02T03:04:05Z');
  assert.ok(Number(resourceVersion) > 0);
  assert.equal(namespace, 'default');
  assert.deepEqual((await ask(`${maps}/a`)).json, made.json);
});

test('generateName makes a name', async (t) => {
  const { ask } = await simulate(t);
  const made = await ask(maps, post({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'gen-' } }));
  assert.match(made.json.metadata.name, /^gen-[a-z0-9]{5}$/);
});

test('what cannot be created says why', async (t) => {
  const { ask } = await simulate(t);
  await ask(maps, post(configMap('a')));
  const cases = [
    [configMap('a'), 409, 'AlreadyExists', 'configmaps "a" already exists'],
    [
      { ...configMap(''), metadata: {} },
      422,
      'Invalid',
      'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    ],
    [
      configMap('Bad'),
      422,
      'Invalid',
      /^ConfigMap "Bad" is invalid: metadata\.name: Invalid value: "Bad": a lowercase RFC 1123 subdomain/,
    ],
    [
      { ...configMap('b'), metadata: { name: 'b', namespace: 'other' } },
      400,
      'BadRequest',
      /namespace of the provided object does not match/,
    ],
    [
      { ...configMap('b'), metadata: { name: 'b', resourceVersion: '5' } },
      500,
      undefined,
      /resourceVersion should not be set/,
    ],
    [{ ...configMap('b'), kind: 'Secret' }, 400, 'BadRequest', /cannot be handled as a ConfigMap/],
    [{ ...configMap('b'), apiVersion: 'v2' }, 400, 'BadRequest', /no kind "ConfigMap" is registered for version "v2"/],
    [
      { ...configMap('b'), data: { a: 1 } },
      400,
      'BadRequest',
      /cannot unmarshal number into Go struct field ConfigMap\.data of type string/,
    ],
    [configMap('b', { 'not/ok': 'x' }), 422, 'Invalid', /data\[not\/ok\]/],
    [configMap('b', {}, { 'no good': 'x' }), 422, 'Invalid', /metadata\.labels/],
  ] as const;
  for (const [body, code, reason, message] of cases) {
    const { status, json } = await ask(maps, post(body));
    assert.deepEqual(
      [status, json.kind, json.status, json.reason, json.code],
      [code, 'Status', 'Failure', reason, code],
    );
    assert.match(
      json.message,
      message instanceof RegExp ? message : new RegExp(message.replace(/[.\\[\]()]/g, '\\$&')),
    );
  }
  const missing = await ask('/api/v1/namespaces/none/configmaps', post(configMap('a')));
  assert.deepEqual([missing.status, missing.json.message], [404, 'namespaces "none" not found']);
});

test('missing parts of a spec are named by path', async (t) => {
  const { ask } = await simulate(t);
  const { json } = await ask(
    '/api/v1/namespaces/default/pods',
    post(pod('p', { containers: [{ image: 'x' }, { name: 'b' }] })),
  );
  assert.equal(json.code, 422);
  assert.deepEqual(
    json.details.causes.map((cause: { field: string }) => cause.field),
    ['spec.containers[0].name', 'spec.containers[1].image'],
  );
});

test('unknown fields: refused when strict, warned of by default, dropped always', async (t) => {
  const { ask } = await simulate(t);
  const body = { ...configMap('a'), bogus: 1 };
  const strict = await ask(`${maps}?fieldValidation=Strict`, post(body));
  assert.equal(strict.status, 400);
  assert.match(strict.json.message, /strict decoding error: unknown field "bogus"/);
  const warned = await ask(maps, post(body));
  assert.equal(warned.headers['warning'], '299 - "unknown field \\"bogus\\""');
  assert.equal(warned.json.bogus, undefined);
  const silent = await ask(`${maps}/a?fieldValidation=Ignore`, put({ ...configMap('a', { a: 'c' }), bogus: 1 }));
  assert.equal(silent.headers['warning'], undefined);
  assert.equal(silent.json.bogus, undefined);
});

test('updates need the current resourceVersion when they name one', async (t) => {
  const { ask } = await simulate(t);
  const first = (await ask(maps, post(configMap('a')))).json;
  const second = await ask(`${maps}/a`, put({ ...first, data: { a: 'c' } }));
  assert.equal(second.status, 200);
  const stale = await ask(`${maps}/a`, put({ ...first, data: { a: 'd' } }));
  assert.equal(stale.status, 409);
  assert.equal(
    stale.json.message,
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
  );
  assert.equal((await ask(`${maps}/a`, put(configMap('a', { a: 'e' })))).status, 200);
  assert.equal((await ask(`${maps}/a`, put(configMap('b')))).status, 400);
  assert.equal((await ask(`${maps}/none`, put(configMap('none')))).status, 404);
  const other = { ...first, metadata: { name: 'a', uid: 'someone-else' } };
  assert.equal((await ask(`${maps}/a`, put(other))).status, 409);
});

test('a dry run answers but changes nothing', async (t) => {
  const { sim, ask } = await simulate(t);
  const { revision } = sim.store;
  const made = await ask(`${maps}?dryRun=All`, post(configMap('a')));
  assert.equal(made.status, 201);
  assert.ok(made.json.metadata.uid);
  sim.store.apply(configMap('b'));
  await ask(`${maps}/b?dryRun=All`, patch({ data: { x: 'y' } }));
  await ask(`${maps}/b?dryRun=All`, { method: 'DELETE' });
  assert.equal(sim.store.revision, revision + 1);
  assert.equal((await ask(`${maps}?dryRun=Some`, post(configMap('c')))).status, 422);
});

test('generation counts changes of the spec; status is written through its own path', async (t) => {
  const { ask } = await simulate(t);
  const made = (await ask(deployments, post({ ...deployment('d'), status: { replicas: 9 } }))).json;
  assert.deepEqual([made.metadata.generation, made.status, made.spec.replicas], [1, {}, 1]);
  const status = await ask(
    `${deployments}/d/status`,
    put({ ...made, spec: { ...made.spec, replicas: 5 }, status: { replicas: 3 } }),
  );
  assert.deepEqual(
    [status.json.metadata.generation, status.json.status, status.json.spec.replicas],
    [1, { replicas: 3 }, 1],
  );
  const spec = await ask(`${deployments}/d`, patch({ spec: { replicas: 4 }, status: { replicas: 0 } }));
  assert.deepEqual([spec.json.metadata.generation, spec.json.status, spec.json.spec.replicas], [2, { replicas: 3 }, 4]);
  const labels = await ask(`${deployments}/d`, patch({ metadata: { labels: { a: 'b' } } }));
  assert.equal(labels.json.metadata.generation, 2);
});

test('scale is read and written through its subresource', async (t) => {
  const { ask } = await simulate(t);
  await ask(deployments, post(deployment('d', { replicas: 2 })));
  const scale = (await ask(`${deployments}/d/scale`)).json;
  assert.deepEqual(
    [scale.kind, scale.apiVersion, scale.spec, scale.status],
    ['Scale', 'autoscaling/v1', { replicas: 2 }, { replicas: 0, selector: 'app=d' }],
  );
  const next = await ask(`${deployments}/d/scale`, put({ ...scale, spec: { replicas: 7 } }));
  assert.equal(next.json.spec.replicas, 7);
  assert.equal((await ask(`${deployments}/d`)).json.spec.replicas, 7);
  assert.equal((await ask(`${deployments}/d/scale`, put(scale))).status, 409);
  assert.equal((await ask(`${deployments}/d/scale`, patch({ spec: { replicas: 1 } }))).json.spec.replicas, 1);
});

test('patches by each content type, and none by another', async (t) => {
  const { sim, ask } = await simulate(t);
  sim.store.apply(pod('p'));
  const path = '/api/v1/namespaces/default/pods/p';
  const strategic = await ask(
    path,
    patch({ spec: { containers: [{ name: 'c', image: 'nginx:2' }] } }, 'application/strategic-merge-patch+json'),
  );
  assert.equal(strategic.json.spec.containers[0].image, 'nginx:2');
  const json = await ask(
    path,
    patch([{ op: 'replace', path: '/spec/containers/0/image', value: 'nginx:3' }], 'application/json-patch+json'),
  );
  assert.equal(json.json.spec.containers[0].image, 'nginx:3');
  assert.equal((await ask(path, patch({}, 'application/json'))).status, 415);
  const stale = await ask(path, patch({ metadata: { resourceVersion: '1', labels: { a: 'b' } } }));
  assert.equal(stale.status, 409);
  const frozen = await ask(path, patch({ spec: { restartPolicy: 'Never' } }));
  assert.equal(frozen.status, 422);
  assert.match(frozen.json.message, /pod updates may not change fields other than/);
});

test('server-side apply creates, changes, conflicts and forces', async (t) => {
  const { ask } = await simulate(t);
  const apply = (body: unknown, query: string) =>
    ask(`${deployments}/d?${query}`, patch(JSON.stringify(body), 'application/apply-patch+yaml'));
  assert.equal((await apply(deployment('d'), '')).status, 422);
  const made = await apply(deployment('d', { replicas: 2 }), 'fieldManager=a');
  assert.equal(made.status, 201);
  assert.deepEqual(
    made.json.metadata.managedFields.map((entry: { manager: string; operation: string }) => [
      entry.manager,
      entry.operation,
    ]),
    [['a', 'Apply']],
  );
  const again = await apply(deployment('d', { replicas: 2 }), 'fieldManager=a');
  assert.equal(again.json.metadata.resourceVersion, made.json.metadata.resourceVersion);
  const clash = await apply(deployment('d', { replicas: 3 }), 'fieldManager=b');
  assert.equal(clash.status, 409);
  assert.equal(clash.json.details.causes[0].field, '.spec.replicas');
  const forced = await apply(deployment('d', { replicas: 3 }), 'fieldManager=b&force=true');
  assert.equal(forced.json.spec.replicas, 3);
  assert.equal((await apply({ ...deployment('d'), apiVersion: 'apps/v2' }, 'fieldManager=a')).status, 400);
  assert.equal((await apply({ ...deployment('e') }, 'fieldManager=a')).status, 400);
});

test('numbers that are quantities become texts; ports may be names', async (t) => {
  const { ask } = await simulate(t);
  const resources = { requests: { cpu: 1, memory: '1Gi' } };
  const probe = { httpGet: { port: 'http' } };
  const containers = [{ name: 'c', image: 'x', resources, readinessProbe: probe }];
  const made = await ask('/api/v1/namespaces/default/pods', post(pod('p', { containers })));
  assert.deepEqual(made.json.spec.containers[0].resources, { requests: { cpu: '1', memory: '1Gi' } });
  assert.equal(made.json.spec.containers[0].readinessProbe.httpGet.port, 'http');
  const wrong = [{ name: 'c', image: 'x', resources: { requests: { cpu: true } } }];
  assert.equal((await ask('/api/v1/namespaces/default/pods', post(pod('q', { containers: wrong })))).status, 400);
});

test('a Service gets an address and keeps it', async (t) => {
  const { ask } = await simulate(t);
  const services = '/api/v1/namespaces/default/services';
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's' },
    spec: { ports: [{ port: 80 }], selector: { a: 'b' } },
  };
  const made = (await ask(services, post(service))).json;
  assert.match(made.spec.clusterIP, /^10\.96\./);
  assert.deepEqual(made.spec.ports, [{ port: 80, protocol: 'TCP', targetPort: 80 }]);
  assert.equal((await ask(`${services}/s`, put(service))).json.spec.clusterIP, made.spec.clusterIP);
  const moved = await ask(`${services}/s`, patch({ spec: { clusterIP: '10.96.9.9', clusterIPs: ['10.96.9.9'] } }));
  assert.equal(moved.status, 422);
});

test('nobody grants more than they hold', async (t) => {
  const { sim, ask } = await simulate(t);
  const rbac = 'rbac.authorization.k8s.io';
  const bind = (name: string, role: string, user: string) => ({
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { name, namespace: 'default' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', name: user }],
  });
  sim.store.apply(bind('alice', 'admin', 'alice'));
  sim.addToken('alice', { name: 'alice', groups: [] });
  const path = `/apis/${rbac}/v1/namespaces/default/rolebindings`;
  assert.equal((await ask(path, { ...post(bind('ok', 'view', 'bob')), token: 'alice' })).status, 201);
  const refused = await ask(path, { ...post(bind('no', 'cluster-admin', 'bob')), token: 'alice' });
  assert.equal(refused.status, 403);
  assert.match(refused.json.message, /is attempting to grant RBAC permissions not currently held/);
});

test('a custom resource is served while its definition exists', async (t) => {
  const { ask } = await simulate(t, { controllers: {} });
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      names: { kind: 'Widget', plural: 'widgets' },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  required: ['size'],
                  properties: { size: { type: 'integer', minimum: 1 }, color: { type: 'string', default: 'red' } },
                },
              },
            },
          },
        },
      ],
    },
  };
  const widgets = '/apis/example.com/v1/namespaces/default/widgets';
  const widget = (spec: object) => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec });
  assert.equal((await ask(widgets)).status, 404);
  assert.equal((await ask('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', post(definition))).status, 201);
  const made = await ask(widgets, post(widget({ size: 2 })));
  assert.deepEqual(made.json.spec, { size: 2, color: 'red' });
  assert.equal(
    (await ask(widgets, post(widget({})))).json.message,
    'Widget.example.com "w" is invalid: spec.size: Required value',
  );
  assert.equal((await ask(`${widgets}/w`, patch({ spec: { size: 0 } }))).status, 422);
  assert.equal((await ask(`${widgets}/w`, patch({}, 'application/strategic-merge-patch+json'))).status, 415);
  const groups = (await ask('/apis')).json.groups.map((group: { name: string }) => group.name);
  assert.ok(groups.includes('example.com'));
});
