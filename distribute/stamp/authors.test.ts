import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import type { ApiObject } from '../../kube/types.ts';
import { acceptance, acceptedBefore, Authors } from './authors.ts';
import { modifierAnnotation } from './stamp-policy.ts';
import { workStamp } from './work-stamp.ts';

const group = 'admissionregistration.k8s.io';
const resources = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'];
const stamp = (user: string): string => JSON.stringify({ user, groups: [] });
const installedAt = '2026-01-01T00:00:00Z';

interface Given {
  readonly text?: string;
  readonly generation?: number;
  readonly made?: string;
}

function work(uid: string, { text, generation = 1, made = '2025-01-01T00:00:00Z' }: Given): ApiObject {
  const annotations = text === undefined ? {} : { [modifierAnnotation]: text };
  return {
    metadata: {
      name: 'w',
      namespace: 'm1',
      uid,
      resourceVersion: '1',
      creationTimestamp: made,
      generation,
      annotations,
    },
  } as ApiObject;
}

function put(hub: FakeClient, creationTimestamp: string, change: object = {}): void {
  for (const [index, resource] of resources.entries()) {
    const { spec, ...object } = structuredClone(workStamp.validation[index]) as { spec: object };
    const metadata = { name: workStamp.name, creationTimestamp };
    hub.put(`${resource}.${group}`, { ...object, metadata, spec: index === 0 ? { ...spec, ...change } : spec });
  }
}

/** Authors of a hub that have read its policies. */
async function authorsOf(t: TestContext, hub: FakeClient): Promise<Authors> {
  const changed = new EventTarget();
  const onChange = (): void => void changed.dispatchEvent(new Event('change'));
  const authors = new Authors({
    client: hub,
    policy: workStamp,
    onChange,
    onError: (error) => assert.fail(String(error)),
  });
  t.after(() => authors.close());
  while (authors.isReading()) await once(changed, 'change');
  return authors;
}

const hubOf = (): FakeClient => new FakeClient(resources.map((resource) => ({ group, versions: ['v1'], resource })));

/** The name of the author, or why there is none. */
function nameOf(authors: Authors, object: ApiObject): string {
  const author = authors.of(object);
  return 'fault' in author ? author.fault : author.modifier.name;
}

test('the author of a work is proven when it was made or changed under the policy, and nobody is before', async (t) => {
  const hub = hubOf();
  put(hub, installedAt);
  const authors = await authorsOf(t, hub);
  const made = '2026-01-02T00:00:00Z';
  assert.equal(nameOf(authors, work('new', { text: stamp('alice'), made })), 'alice');
  for (const text of [undefined, ''])
    assert.match(nameOf(authors, work('none', { text: text ?? '', made })), /nobody is written/);
  for (const text of ['x', '{}', 'null', '{"user":"","groups":[]}', '{"user":null,"groups":[]}'])
    assert.match(nameOf(authors, work('bad', { text, made })), /is not what the hub's policy writes/, text);
  assert.match(nameOf(authors, work('old', { text: stamp('alice') })), /is older than the admission policy/);
  assert.equal(nameOf(authors, work('old', { text: stamp('bob'), generation: 2 })), 'bob');
  // Also when it named nobody before.
  assert.match(nameOf(authors, work('unstamped', {})), /nobody is written/);
  assert.equal(nameOf(authors, work('unstamped', { text: stamp('bob'), generation: 2 })), 'bob');
  // Within seconds of the installation an API server may not ask yet.
  assert.match(nameOf(authors, work('at-once', { text: stamp('alice'), made: '2026-01-01T00:00:04Z' })), /is older/);
});

test('a stamp proves nothing while the policy is missing, changed or just installed', async (t) => {
  const text = stamp('alice');
  const rows: readonly (readonly [prepare: (hub: FakeClient) => void, expected: RegExp])[] = [
    [() => {}, /no ValidatingAdmissionPolicy portcullis-last-modifier with a binding: install both/],
    [(hub) => put(hub, installedAt, { failurePolicy: 'Ignore' }), /was changed: install it again/],
    [(hub) => put(hub, installedAt, { matchConditions: [{ name: 'x', expression: 'false' }] }), /was changed/],
    [(hub) => put(hub, new Date().toISOString()), /is older than the admission policy/],
    [(hub) => void resources.map((resource) => hub.forbidden.add(`list ${resource}`)), /cannot be read/],
  ];
  for (const [prepare, expected] of rows) {
    const hub = hubOf();
    prepare(hub);
    const authors = await authorsOf(t, hub);
    assert.match(nameOf(authors, work('w', { text, made: new Date().toISOString() })), expected);
    assert.match(nameOf(authors, work('w', { text, generation: 2 })), expected);
  }
});

test('what was proven once is proven after a restart, for that generation and that stamp alone', async (t) => {
  const hub = hubOf();
  put(hub, installedAt);
  const authors = await authorsOf(t, hub);
  const proven = work('w', { text: stamp('alice'), generation: 2 });
  const condition = { ...acceptance(proven), observedGeneration: 2, lastTransitionTime: installedAt };
  const withStatus = (object: ApiObject): ApiObject => ({ ...object, status: { conditions: [condition] } });
  assert.equal(nameOf(authors, withStatus(proven)), 'alice');
  assert.deepEqual(acceptedBefore(withStatus(proven)), [acceptance(proven)]);
  for (const other of [
    work('v', { text: stamp('bob'), generation: 2 }),
    work('u', { text: stamp('alice'), generation: 3 }),
  ]) {
    assert.match(nameOf(authors, withStatus(other)), /is older/);
    assert.deepEqual(acceptedBefore(withStatus(other)), []);
  }
});
