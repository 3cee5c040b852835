import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { clusterAnnotation } from '../../query/types.ts';
import { makeDocumentReader, type DocumentReader } from './document.ts';

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
const pods = { group: '', version: 'v1', kind: 'Pod', namespaced: true };
const paths = ['status.phase', 'spec.nodeName', 'spec.containers[].image', 'spec.hostNetwork', 'spec.priority'];
const reader = makeDocumentReader({ cluster: 'm1', type: pods, paths, redacts: false });
const secrets = makeDocumentReader({
  cluster: 'm1',
  type: { ...pods, kind: 'Secret' },
  paths: ['type'],
  redacts: true,
});
const raw = (text: string): Buffer => Buffer.from(text, 'utf8');
const written = (text: string, by: DocumentReader = reader): string => Buffer.from(by.read(raw(text)).raw).toString();
const named = '"namespace":"a","name":"x"';
const mark = `"${clusterAnnotation}":"m1"`;

describe('a document', () => {
  it('keeps every byte but what is cut and added', () => {
    const spec = '"spec":{"b":1.0,"a":9007199254740993,"10":1e400,"2":"\\u003c\\/","__proto__":{"x":-0}, "t" : [ ] }';
    assert.equal(
      written(
        `{"metadata":{${named},"managedFields":[{"f":{}}],"annotations":{"z":"1","${lastApplied}":"{}","y":"2"}},${spec}}\n`,
      ),
      `{"kind":"Pod","apiVersion":"v1","metadata":{${named},"annotations":{${mark},"z":"1","y":"2"}},${spec}}\n`,
    );
  });

  for (const [before, after] of [
    ['', `"annotations":{${mark}},`],
    ['"annotations":{},', `"annotations":{${mark}},`],
    ['"annotations":null,', `"annotations":{${mark}},`],
    [`"annotations":{"${lastApplied}":"x"},`, `"annotations":{${mark}},`],
    [`"annotations":{"${lastApplied}":"x","a":"b"},`, `"annotations":{${mark},"a":"b"},`],
    [`"annotations":{"a":"b","${lastApplied}":"x"},`, `"annotations":{${mark},"a":"b"},`],
    [`"annotations":{"${clusterAnnotation}":"liar","a":"b"},`, `"annotations":{${mark},"a":"b"},`],
    [`"annotations":{"shadow.clusterpedia.io\\/cluster-name":"liar"},`, `"annotations":{${mark}},`],
    ['"managedFields":[],', `"annotations":{${mark}},`],
    ['"managedFields":[],"managedFields":{},', `"annotations":{${mark}},`],
  ] as const) {
    it(`adds the cluster's annotation to metadata with ${before === '' ? 'none' : before}`, () => {
      const head = '"apiVersion":"v1","kind":"Pod"';
      assert.equal(written(`{${head},"metadata":{${before}${named}}}`), `{${head},"metadata":{${after}${named}}}`);
    });
  }

  it('is read for the row', () => {
    const row = reader.read(
      raw(
        `{"metadata":{${named},"uid":"u1","resourceVersion":"12","creationTimestamp":"2024-05-06T07:08:09Z","labels":{"app":"w\\u0065b","1":"x"},` +
          '"ownerReferences":[{"uid":"o1"},{"uid":"o2","controller":true}]},"spec":{"nodeName":"n1","hostNetwork":true,"priority":1.50,' +
          '"containers":[{"image":"a"},{"name":"y"},{"image":"b"}]},"status":{"phase":null}}',
      ),
    );
    const { raw: _, ...rest } = row;
    assert.deepEqual(rest, {
      namespace: 'a',
      name: 'x',
      uid: 'u1',
      resourceVersion: '12',
      ownerUid: 'o2',
      createdAtMs: Date.UTC(2024, 4, 6, 7, 8, 9),
      labels: [
        ['1', 'x'],
        ['app', 'web'],
      ],
      terms: [
        ['spec.nodeName', 'n1'],
        ['spec.hostNetwork', 'true'],
        ['spec.priority', '1.50'],
        ['spec.containers[].image', 'a'],
        ['spec.containers[].image', 'b'],
      ],
    });
  });

  it('of a Secret holds no value, however its key is spelt, and cannot be written back', () => {
    const text = written(
      `{"kind":"Secret","apiVersion":"v1","metadata":{${named},"resourceVersion":"77","annotations":{"${lastApplied}":"c2VjcmV0",` +
        '"search.portcullis.io/redacted":"no"}},"d\\u0061ta":{"a":"c2VjcmV0","b":"c2VjcmV0"},"stringData":{"a":"c2VjcmV0"},"type":"Opaque"}',
      secrets,
    );
    assert.equal(text.includes('c2VjcmV0'), false);
    assert.deepEqual(JSON.parse(text), {
      kind: 'Secret',
      apiVersion: 'v1',
      metadata: {
        namespace: 'a',
        name: 'x',
        resourceVersion: '1',
        annotations: {
          [clusterAnnotation]: 'm1',
          'search.portcullis.io/redacted': 'data',
          'search.portcullis.io/data-count': '2',
          'search.portcullis.io/resource-version': '77',
        },
      },
      type: 'Opaque',
    });
    assert.equal(
      secrets.read(raw(`{"metadata":{${named},"resourceVersion":"77"},"data":{"a":"Yg=="}}`)).resourceVersion,
      '77',
    );
  });

  it('without a pruned field says what it lacks and cannot be written back; one that never had it is as it was', () => {
    const pruned = ['data', 'metadata.annotations.b', 'spec.containers[].env'];
    const narrow = makeDocumentReader({
      cluster: 'm1',
      type: pods,
      paths: [...paths, 'data.k'],
      redacts: false,
      pruned,
    });
    const head = `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"77",${named},"annotations":{`;
    const reported = `${mark},"search.portcullis.io/pruned":"${pruned.join()}","search.portcullis.io/resource-version":"77"`;
    const without = head.replace('"77"', '"1"');
    for (const [before, after] of [
      ['"a":"1","b":"2"}},"spec":{"containers":[]}}', `${reported},"a":"1"}},"spec":{"containers":[]}}`],
      ['"a":"1"}},"d\\u0061ta":{"k":"v"},"x":1.0}', `${reported},"a":"1"}},"x":1.0}`],
      [
        '"a":"1"}},"spec":{"containers":[{"env":[1],"image":"i"},{"image":"j","env":null}]}}',
        `${reported},"a":"1"}},"spec":{"containers":[{"image":"i"},{"image":"j"}]}}`,
      ],
      // What a member says of the index's own annotations does not count.
      ['"search.portcullis.io/pruned":"no"}},"data":{}}', `${reported}}}}`],
    ] as const) {
      const row = narrow.read(raw(head + before));
      assert.equal(Buffer.from(row.raw).toString(), without + after);
      assert.equal(row.resourceVersion, '77');
      assert.equal(
        row.terms.some(([path]) => path === 'data.k'),
        false,
        'what is pruned is not searched either',
      );
    }
    const whole = `${head}"a":"1"}},"spec":{"containers":[{"image":"i"}]}}`;
    assert.equal(written(whole, narrow), whole.replace('"a":', `${mark},"a":`));
  });

  it('without its annotations has only those that the index adds', () => {
    const pruned = ['metadata.annotations'];
    const narrow = makeDocumentReader({ cluster: 'm1', type: pods, paths, redacts: false, pruned });
    const object = JSON.parse(written(`{"metadata":{${named},"annotations":{"a":{},"b":"c"}}}`, narrow)) as any;
    assert.deepEqual(object.metadata.annotations, {
      [clusterAnnotation]: 'm1',
      'search.portcullis.io/pruned': 'metadata.annotations',
      'search.portcullis.io/resource-version': '',
    });
    const none = JSON.parse(written(`{"metadata":{${named},"annotations":null}}`, narrow)) as any;
    assert.deepEqual(none.metadata.annotations, { [clusterAnnotation]: 'm1' });
  });

  it('with a key twice is what readers of JSON see: the last', () => {
    const row = reader.read(
      raw(
        `{"metadata":{"name":"old","namespace":"old"},"metadata":{"name":"older",${named},"name":"y"},"status":{"phase":"A","phase":"B"}}`,
      ),
    );
    assert.deepEqual([row.namespace, row.name, row.terms], ['a', 'y', [['status.phase', 'B']]]);
    assert.equal((JSON.parse(Buffer.from(row.raw).toString()) as any).metadata.annotations[clusterAnnotation], 'm1');
    const endless = `{"metadata":{${named}}${',"status":{}'.repeat(100)}}`;
    assert.throws(() => reader.read(raw(endless)), MalformedAnswer);
  });

  for (const [what, text] of [
    ['cut short', `{"metadata":{${named}}`],
    ['followed by more', `{"metadata":{${named}}}{}`],
    ['a list', '[]'],
    ['nothing', ''],
    ['without metadata', '{"kind":"Pod"}'],
    ['without name', '{"metadata":{"namespace":"a"}}'],
    ['without its namespace', '{"metadata":{"name":"a"}}'],
    ['with a name that is no text', '{"metadata":{"namespace":"a","name":1}}'],
    ['with a bare word', `{"metadata":{${named}},"a":nul}`],
    ['with a leading zero', `{"metadata":{${named}},"a":01}`],
    ['with a trailing comma', `{"metadata":{${named}},"a":[1,]}`],
    ['with a control character', `{"metadata":{${named}},"a":"\n"}`],
    ['with an unknown escape', `{"metadata":{${named}},"a":"\\x41"}`],
    ['nested too deeply', `{"metadata":{${named}},"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
  ] as const) {
    it(`${what} is refused, and not quoted`, () => {
      assert.throws(() => reader.read(raw(text)), MalformedAnswer);
    });
  }

  it('with more values than any API server can store is refused before labels, owners or anything else is parsed (ATT-67)', () => {
    const many = `[${'{},'.repeat(1_000_000)}{}]`;
    for (const text of [
      `{"metadata":{${named},"labels":${many}}}`,
      `{"metadata":{${named},"ownerReferences":${many}}}`,
      `{"metadata":{${named}},"spec":${many}}`,
    ]) {
      assert.throws(() => reader.read(raw(text)), /JSON with more than 2000000 values/);
    }
  });

  it('that is not UTF-8 is refused', () => {
    assert.throws(
      () => reader.read(Buffer.concat([raw(`{"metadata":{${named}},"a":"`), Buffer.from([0xff]), raw('"}')])),
      MalformedAnswer,
    );
  });

  it('may be deep and large', () => {
    const deep = `${'[{"a":'.repeat(4000)}1${'}]'.repeat(4000)}`;
    const text = written(`{"metadata":{${named}},"spec":${deep},"status":{"big":"${'x'.repeat(1_500_000)}"}}`);
    assert.ok(text.includes(deep));
  });
});

/** Any JSON with spellings JSON.stringify does not make: blanks, escapes, repeated keys. */
const spelling = fc.letrec<{ value: string; text: string; member: string }>((tie) => ({
  text: fc
    .tuple(
      fc.constantFrom('named', 'annotations', 'data', 'spec', 'items', 'a', '', 'é\u2028"\\', clusterAnnotation),
      fc.boolean(),
    )
    .map(([text, escape]) =>
      escape
        ? `"${[...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`
        : JSON.stringify(text),
    ),
  member: fc.tuple(tie('text'), fc.constantFrom(':', ' : '), tie('value')).map((parts) => parts.join('')),
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', '1.0', '-0', '1e5', '9007199254740993', '""'),
    tie('text'),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[ ${items.join(' ,')}]`),
    fc.array(tie('member'), { maxLength: 5 }).map((members) => `{${members.join(',')} }`),
  ),
}));

describe('documents of all kinds', () => {
  it('read back as JSON.parse reads the original, but for what is cut and added', () => {
    fc.assert(
      fc.property(
        fc.array(spelling.member, { maxLength: 6 }),
        fc.array(spelling.member, { maxLength: 6 }),
        (members, inner) => {
          const text = `{${[...members, `"metadata":{${[...inner, named].join(', ')}}`].join(',')}}`;
          const wanted = JSON.parse(text);
          let read: unknown;
          try {
            read = JSON.parse(written(text));
          } catch (error) {
            assert.ok(error instanceof MalformedAnswer);
            // Only what has no meaning as an object of Kubernetes.
            const odd = inner
              .map((member) => JSON.parse(`{${member}}`).annotations)
              .filter(
                (value) => value !== undefined && value !== null && (typeof value !== 'object' || Array.isArray(value)),
              );
            assert.ok(odd.length > 0);
            return;
          }
          const annotations = { ...wanted.metadata.annotations, [clusterAnnotation]: 'm1' };
          const metadata = { ...wanted.metadata, annotations };
          assert.deepEqual(read, { ...wanted, apiVersion: 'v1', kind: 'Pod', metadata });
        },
      ),
      { numRuns: 200 },
    );
  });

  it('are refused exactly when JSON.parse refuses them', () => {
    fc.assert(
      fc.property(
        spelling.value,
        fc.nat(200),
        fc.constantFrom('', '"', '{', ']', ',', ':', '0', '.', '\\', 'e', '-', ' '),
        (value, at, put) => {
          const middle = at % (value.length + 1);
          const text = `{"metadata":{${named}},"a":${value.slice(0, middle)}${put}${value.slice(middle + 1)}}`;
          let isJson = true;
          try {
            JSON.parse(text);
          } catch {
            isJson = false;
          }
          if (isJson) reader.read(raw(text));
          else assert.throws(() => reader.read(raw(text)), MalformedAnswer);
        },
      ),
      { numRuns: 300 },
    );
  });
});
