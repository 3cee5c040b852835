import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLabelSelector } from './selectors/label-selector.ts';
import { allOf, type FieldRequirement, type LabelRequirement, type ListQuery } from './list-query.ts';
import { matches } from './match.ts';
import { parsePath } from './path.ts';

const pods = { group: '', resource: 'pods' };
const key = { cluster: 'c1', type: 'pods.', namespace: 'ns', name: 'web-1' };
const raw = `{"metadata":{"name":"web-1","namespace":"ns","uid":"u1","creationTimestamp":"2022-03-04T00:00:00Z",
 "labels":{"app":"Web","n":"10","__proto__":"p"},"ownerReferences":[{"uid":"o0"},{"uid":"o1","controller":true}]},
 "spec":{"replicas":3,"big":9007199254740993,"float":1.0,"empty":"","none":null,"yes":true,"object":{},
 "containers":[{"image":"a","ports":[1,2]},{"image":"b","cpu":"100m","memory":"1Gi"}],"time":"2024-05-01T10:00:00.5+02:00"}}`;
const bytes = Buffer.from(raw);

/** Asks of the bytes and of the parsed object, which must agree. */
function holds(part: Partial<ListQuery>): boolean {
  const query = { ...allOf(pods), ...part };
  const ofBytes = matches(query, bytes, key);
  assert.equal(matches(query, JSON.parse(raw), key), ofBytes);
  return ofBytes;
}
const label = (key: string, operator: LabelRequirement['operator'], ...values: string[]): boolean =>
  holds({ labels: [{ key, operator, values }] });
const requirement = (path: string, operator: FieldRequirement['operator'], values: string[]): FieldRequirement => ({
  path: parsePath(path, true),
  operator,
  values,
});
const field = (path: string, operator: FieldRequirement['operator'], ...values: string[]): boolean =>
  holds({ fields: [requirement(path, operator, values)] });

test('keys match by equality and set, each of them, and none of the excluded ones (CP-011 to CP-016)', () => {
  assert.ok(
    holds({ clusters: ['c1'] }) && holds({ clusters: ['c1', 'c2'], namespaces: ['x', 'ns'], names: ['web-1'] }),
  );
  assert.ok(!holds({ clusters: ['c2'] }) && !holds({ namespaces: [] }) && !holds({ names: ['web'] }));
  assert.ok(holds({ notClusters: ['c2'], notNamespaces: [], notNames: ['web'] }));
  assert.ok(!holds({ notClusters: ['c1'] }) && !holds({ notNamespaces: ['ns'] }) && !holds({ notNames: ['web-1'] }));
  assert.ok(holds({ uids: ['u1'] }) && !holds({ uids: ['u2'] }) && !holds({ types: [] }));
  assert.ok(!holds({ types: [{ group: 'apps', resource: 'pods' }] }));
  assert.ok(
    holds({ nameContains: ['eb-', '1'] }) && !holds({ nameContains: ['e_b'] }) && !holds({ nameContains: ['%'] }),
  );
});

test('the first time is part of the window, the second is not (CP-017)', () => {
  const created = Date.UTC(2022, 2, 4);
  assert.ok(holds({ createdSinceMs: created, createdBeforeMs: created + 1 }));
  assert.ok(!holds({ createdSinceMs: created + 1 }) && !holds({ createdBeforeMs: created }));
});

test('a selector of nothing, and one of everything, keep an object without labels (CP-147)', () => {
  const bare = Buffer.from('{"metadata":{"name":"web-1"}}');
  assert.ok(matches(allOf(pods), bare, key));
  assert.ok(matches({ ...allOf(pods), labels: [{ key: 'a', operator: 'DoesNotExist', values: [] }] }, bare, key));
  assert.ok(!matches({ ...allOf(pods), labels: [{ key: 'a', operator: 'Exists', values: [] }] }, bare, key));
});

test('each label operator keeps what it matches and drops the rest (CP-148)', () => {
  const env = Buffer.from('{"metadata":{"labels":{"env":"dev"}}}');
  const kept = (selector: string): boolean =>
    matches({ ...allOf(pods), labels: parseLabelSelector(selector) }, env, key);
  for (const selector of ['env', '!tier', 'env=dev', 'env!=prod', 'env in (dev,prod)', 'env notin (prod,stage)'])
    assert.ok(kept(selector), selector);
  for (const selector of ['tier', '!env', 'env=prod', 'env!=dev', 'env in (prod,stage)', 'env notin (dev,prod)'])
    assert.ok(!kept(selector), selector);
});

test('labels: equality and sets, negative ones where the label is absent, integers by size (CP-018 to CP-025)', () => {
  assert.ok(label('app', 'In', 'Web', 'x') && !label('app', 'In', 'web') && !label('app', 'In', ''));
  assert.ok(
    !label('no', 'In', '') && label('no', 'NotIn', '') && label('no', 'NotIn', 'x') && !label('app', 'NotIn', 'Web'),
  );
  assert.ok(
    label('app', 'Exists') && !label('no', 'Exists') && label('no', 'DoesNotExist') && !label('app', 'DoesNotExist'),
  );
  assert.ok(label('n', 'Gt', '9') && !label('n', 'Gt', '10') && label('n', 'Lt', '11') && !label('n', 'Lt', '9'));
  assert.ok(!label('app', 'Gt', '1') && !label('no', 'Lt', '1') && !label('n', 'Lt', '9223372036854775808'));
  assert.ok(label('__proto__', 'In', 'p') && !label('constructor', 'Exists') && !label('toString', 'Exists'));
});

test('fields: equality of the text, negative ones where nothing is, existence is not null (CP-026 to CP-033)', () => {
  assert.ok(
    field('spec.replicas', 'Equals', '3') && field('spec.yes', 'Equals', 'true') && field('spec.empty', 'Equals', ''),
  );
  assert.ok(
    !field('spec.gone', 'Equals', '') && !field('spec.none', 'Equals', 'null') && !field('spec.none', 'Equals', ''),
  );
  assert.ok(
    field('spec.gone', 'NotEquals', 'x') &&
      field('spec.none', 'NotIn', 'x', 'null') &&
      !field('spec.replicas', 'NotIn', '3'),
  );
  assert.ok(
    field('spec.object', 'NotEquals', '{}') && !field('spec.object', 'Equals', '{}') && field('spec.object', 'Exists'),
  );
  assert.ok(field('spec.empty', 'Exists') && !field('spec.none', 'Exists') && !field('spec.gone.deeper', 'Exists'));
  assert.ok(
    field('spec.none', 'DoesNotExist') && field('spec.gone', 'DoesNotExist') && !field('spec.empty', 'DoesNotExist'),
  );
  assert.ok(
    !field('spec.toString', 'Exists') &&
      !field('constructor.name', 'Exists') &&
      !field('metadata.name.length', 'Exists'),
  );
  assert.ok(
    field('spec.replicas', 'In', '2', '3') &&
      field('metadata.labels.app', 'Contains', 'eb') &&
      !field('metadata.labels.app', 'Contains', 'EB'),
  );
});

test('numbers of bytes keep their text', () => {
  const query = (path: string, value: string): ListQuery => ({
    ...allOf(pods),
    fields: [requirement(path, 'Equals', [value])],
  });
  assert.ok(matches(query('spec.big', '9007199254740993'), bytes, key));
  assert.ok(matches(query('spec.float', '1.0'), bytes, key) && !matches(query('spec.float', '1'), bytes, key));
});

test('elements of lists: a positive operator needs one, a negative one none', () => {
  assert.ok(field('spec.containers[].image', 'Equals', 'b') && field('spec.containers[1].image', 'Equals', 'b'));
  assert.ok(!field('spec.containers[0].image', 'Equals', 'b') && !field('spec.containers[2].image', 'Exists'));
  assert.ok(!field('spec.containers[].image', 'NotEquals', 'a') && field('spec.containers[].image', 'NotEquals', 'c'));
  assert.ok(!field('spec.containers[].image', 'NotIn', 'x', 'b') && field('spec.containers[].cpu', 'Exists'));
  assert.ok(field('spec.containers[].none', 'DoesNotExist') && !field('spec.containers[].cpu', 'DoesNotExist'));
  assert.ok(field('spec.containers[].ports[]', 'Gt', '1') && !field('spec.containers[].ports[]', 'Gt', '2'));
  assert.ok(!field('spec.object[].x', 'Exists') && !field('spec.containers.image', 'Exists'));
});

test('> and < compare numbers, quantities and times, exactly (CP-104)', () => {
  assert.ok(
    field('spec.replicas', 'Gt', '2.5') && field('spec.replicas', 'Lt', '3e1') && !field('spec.replicas', 'Gt', '3'),
  );
  assert.ok(field('spec.containers[].cpu', 'Lt', '0.2') && !field('spec.containers[].cpu', 'Gt', '0.1'));
  assert.ok(field('spec.containers[].memory', 'Gt', '1073741823') && field('spec.containers[].memory', 'Lt', '2G'));
  assert.ok(
    field('spec.time', 'Gt', '2024-05-01T08:00:00Z') && field('spec.time', 'Lt', '2024-05-01T08:00:00.500000001Z'),
  );
  assert.ok(!field('spec.time', 'Gt', '1') && !field('spec.yes', 'Gt', '0') && !field('metadata.name', 'Gt', '0'));
  const exact = { ...allOf(pods), fields: [requirement('spec.big', 'Gt', ['9007199254740992'])] };
  assert.ok(matches(exact, bytes, key), '2^53+1 is more than 2^53');
});

test('of an inner list of anyOf one must hold, of the outer list all', () => {
  const yes = requirement('spec.replicas', 'Equals', ['3']);
  const no = requirement('spec.replicas', 'Equals', ['4']);
  assert.ok(holds({ anyOf: [[no, yes], [yes]] }) && !holds({ anyOf: [[no, yes], [no]] }) && !holds({ anyOf: [[]] }));
  assert.ok(holds({ fields: [yes], anyOf: [[no, yes]] }) && !holds({ fields: [no], anyOf: [[yes]] }));
});

test('a text is a part of the name, a label key or a label value, whatever its case', () => {
  assert.ok(holds({ text: ['WEB', 'pp'] }) && holds({ text: ['proto'] }) && !holds({ text: ['web', 'uid'] }));
});

test('an owner is the controller reference; what needs other objects is asked of the store (CP-088)', () => {
  assert.ok(holds({ owner: { uid: 'o1', seniority: 0 } }) && !holds({ owner: { uid: 'o0', seniority: 0 } }));
  assert.ok(!holds({ owner: { uid: 'o1', seniority: 1 } }) && !holds({ owner: { name: 'x', seniority: 0 } }));
  const query = { ...allOf(pods), owner: { name: 'x', seniority: 0 } };
  assert.ok(matches(query, bytes, key, (uid) => uid === 'o1') && !matches(query, bytes, key, (uid) => uid === 'o0'));
});
