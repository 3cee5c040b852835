import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MalformedAnswer } from '../../../lib/json/json-scan.ts';
import { markedObject } from './item-bytes.ts';
import { cellOrder, clusterColumn, mergedDefinitions, mergedRow, readColumns, unionColumns } from './table-columns.ts';

const mark = (text: string, resourceVersion?: string): string =>
  markedObject(Buffer.from(text), { cluster: 'm1', resourceVersion }).toString();

describe('markedObject', () => {
  it('adds the annotation and leaves every other byte as it is', () => {
    const item =
      '{"kind":"X", "metadata" : {"name":"a","annotations":{"2":"b","1":"c"}},"big":9007199254740993,"f":1.0}';
    const expected =
      '{"kind":"X", "metadata" : {"name":"a","annotations":{"shadow.clusterpedia.io/cluster-name":"m1","2":"b","1":"c"}},"big":9007199254740993,"f":1.0}';
    assert.equal(mark(item), expected);
    assert.equal(mark('{"metadata":{}}'), '{"metadata":{"annotations":{"shadow.clusterpedia.io/cluster-name":"m1"}}}');
    for (const none of ['{"metadata":{"name":"a","annotations":null}}', '{"metadata":{"name":"a","annotations":{}}}']) {
      assert.equal(mark(none), '{"metadata":{"name":"a","annotations":{"shadow.clusterpedia.io/cluster-name":"m1"}}}');
    }
  });

  it('takes the place of the name of another cluster, however the key is spelled', () => {
    for (const key of ['shadow.clusterpedia.io/cluster-name', 'shadow.clusterpedia.io\\/cluster-n\\u0061me']) {
      const { metadata } = JSON.parse(mark(`{"m\\u0065tadata":{"annotations":{"${key}":"other"}}}`)) as {
        metadata: { annotations: object };
      };
      assert.deepEqual(metadata.annotations, { 'shadow.clusterpedia.io/cluster-name': 'm1' });
    }
  });

  it('refuses what readers could take for another cluster’s: repeated keys, metadata that is none, lists inside (ATT-47)', () => {
    const other = '{"annotations":{"shadow.clusterpedia.io/cluster-name":"x"}}';
    for (const text of [
      `{"metadata":{"annotations":{}},"metadata":${other}}`,
      `{"metadata":${other},"metadata":null}`,
      `{"metadata":${other},"\\u006detadata":{}}`,
      '{"metadata":null}',
      '{"metadata":[]}',
      `[${other}]`,
      `{"items":[{"metadata":${other}}],"metadata":{}}`,
      `{"items":[1,{"items":[]}]}`,
    ])
      assert.throws(() => mark(text), MalformedAnswer, text);
    assert.equal(mark('{"kind":"MetricValue","value":"1"}'), '{"kind":"MetricValue","value":"1"}');
    assert.match(mark('{"metadata":{},"items":[{"key":"a"},"b"]}'), /"m1".*"items":\[\{"key":"a"\},"b"\]/);
  });

  it('refuses an object that is not JSON, which would spoil the answer of all', () => {
    for (const text of ['{"metadata":{},"a":tru}', '{"metadata":{"a"}}', '{"metadata":{}]', '{"a":1,}', '{"a":"\n"}'])
      assert.throws(() => mark(text), /not JSON/, text);
  });

  it('sets the version of all clusters in place of the object’s own', () => {
    assert.equal(
      mark('{"metadata":{"resourceVersion":"5","annotations":{"a":"b"}}}', 'all'),
      '{"metadata":{"resourceVersion":"all","annotations":{"shadow.clusterpedia.io/cluster-name":"m1","a":"b"}}}',
    );
    assert.match(mark('{"metadata":{"name":"x"}}', 'all'), /"resourceVersion":"all"/);
  });
});

const columns = (...names: string[]): ReturnType<typeof readColumns> =>
  readColumns(Buffer.from(JSON.stringify(names.map((name) => ({ name, type: 'string' })))));

describe('the columns of a merged Table', () => {
  it('are the cluster and then those of the member, with cells as they came', () => {
    const own = columns('Name', 'Age');
    assert.equal(cellOrder(own, unionColumns([own, columns('Name', 'Age')])), undefined);
    assert.equal(mergedDefinitions(own), `[${clusterColumn},${own.definitions.join()}]`);
    const row = mergedRow(Buffer.from('{"cells":["a",1.0],"object":{"metadata":{"name":"a"}}}'), undefined, {
      cluster: 'm1',
    });
    assert.equal(
      row.toString(),
      '{"cells":["m1","a",1.0],"object":{"metadata":{"annotations":{"shadow.clusterpedia.io/cluster-name":"m1"},"name":"a"}}}',
    );
    const bare = mergedRow(Buffer.from('{"cells":[],"object":null}'), undefined, { cluster: 'm1' });
    assert.equal(bare.toString(), '{"cells":["m1"],"object":null}');
  });

  it('are joined by name when members differ, and a cell never lands below another column', () => {
    const older = columns('Name', 'Ready', 'Age');
    const newer = columns('Name', 'Status', 'Age');
    const merged = unionColumns([older, newer]);
    assert.deepEqual(merged.names, ['Name', 'Ready', 'Age', 'Status']);
    const order = cellOrder(newer, merged);
    const row = mergedRow(Buffer.from('{"cells":["a","ok","3d"]}'), order, { cluster: 'm2' });
    assert.equal(row.toString(), '{"cells":["m2","a",null,"3d","ok"]}');
  });
});
