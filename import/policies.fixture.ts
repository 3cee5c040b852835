// The types and objects of tests of import policies, and the controllers over a hub in memory.
import { after, type TestContext } from 'node:test';
import { clusterpediaTypes, FakeClient } from '../test/pretend/fake-client.ts';
import { startPolicyControllers } from './policy-controllers.ts';
import { makeTemplateRenderer } from './render/renderer.ts';

export const policiesOf = 'clusterimportpolicies.policy.clusterpedia.io';
export const lifecyclesOf = 'pediaclusterlifecycles.policy.clusterpedia.io';
export const clustersOf = 'pediaclusters.cluster.clusterpedia.io';
export const things = { group: 'example.io', versions: ['v2', 'v1'], resource: 'things', singular: 'thing' };
export const thingsOf = 'things.example.io';

export const spec = {
  source: { group: 'example.io', resource: 'things' },
  references: [
    {
      key: 'secret',
      group: '',
      resource: 'secrets',
      namespaceTemplate: 'ns',
      nameTemplate: '{{ .source.spec.secret }}',
    },
  ],
  nameTemplate: 'thing-{{ .source.metadata.name }}',
  template: `
metadata: { labels: { from: "{{ .source.metadata.name }}" }, name: another }
spec:
  apiserver: "{{ .source.spec.address }}"
  tokenData: "{{ .references.secret.data.token }}"
  syncResources: [{ group: "", resources: [pods] }]
  syncResourcesRefName: ""`,
  creationCondition: '{{ if .source.spec.ready }} True {{ end }}',
};

export interface Scene {
  readonly hub: FakeClient;
  readonly logged: string[];
  condition(
    collection: string,
    name: string,
    type: string,
  ): { status: string; reason: string; message: string } | undefined;
  reason(collection: string, name: string, type: string): string | undefined;
}

/** One for all tests, since the start of its thread takes longer than most of them. */
const templates = makeTemplateRenderer();
after(() => templates.close());

export function makeScene(t: TestContext, hub = new FakeClient([...clusterpediaTypes, things])): Scene {
  const logged: string[] = [];
  const note = (fields: object, message: string): void => void logged.push(`${JSON.stringify(fields)} ${message}`);
  const timing = { missingPollMs: 20, firstBackoffMs: 5, maxBackoffMs: 20 };
  t.after(
    startPolicyControllers({
      client: hub,
      log: { info: note, warn: note, error: note },
      timing,
      templates,
      discoveryLagMs: 50,
    }),
  );
  const condition: Scene['condition'] = (collection, name, type) =>
    hub.get(collection, name)?.['status']?.conditions?.find((each: { type: string }) => each.type === type);
  return { hub, logged, condition, reason: (...of) => condition(...of)?.reason };
}

export function putThing(hub: FakeClient, name: string, more: object = {}): void {
  hub.put(thingsOf, {
    metadata: { name, namespace: 'ns' },
    spec: { address: `https://${name}`, secret: name, ready: true, ...more },
  });
}

export function putSecret(hub: FakeClient, name: string, token = 'c2VjcmV0'): void {
  hub.put('secrets', { metadata: { name, namespace: 'ns' }, data: { token } });
}
