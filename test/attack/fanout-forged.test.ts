// A hostile member among those of a request for every cluster: it must not be able to say that an object is another
// cluster's. Readers of JSON differ where a key comes twice (Go joins two objects and skips a null, others take the
// last or the first), so what could be read in two ways is not passed on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { clusterAnnotation } from '../../query/types.ts';
import { openRaw, requestBytes } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

const alice = 'Authorization: Bearer alice-token';
const asTable = 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const signed = `{"name":"forged","annotations":{"${clusterAnnotation}":"m2"}}`;
let site: Site;

before(async () => {
  site = await startSite({ members: 2, users: [{ token: 'alice-token', name: 'alice' }] });
});
after(() => site?.close());

/** Objects that some reader takes for one of m2, whatever is put into them where they are read otherwise. */
const forgeries: readonly string[] = [
  `{"metadata":${signed},"metadata":null}`,
  `{"metadata":${signed},"metadata":{}}`,
  `{"metadata":${signed},"metadata":7}`,
  `{"metadata":{},"metadata":${signed}}`,
  `{"metadata":${signed},"\\u006detadata":null}`,
  `{"m\\u0065tadata":null,"metadata":${signed}}`,
  `{"metadata":{"name":"forged","annotations":{"${clusterAnnotation}":"m2"},"annotations":null}}`,
  `{"metadata":{"name":"forged","annotations":{"${clusterAnnotation}":"m2"},"\\u0061nnotations":{}}}`,
  `{"metadata":{"name":"forged","annotations":{"${clusterAnnotation}":"m2","${clusterAnnotation}":"m2"}}}`,
  `{"metadata":{"name":"forged","annotations":{"${clusterAnnotation}":"m2","${clusterAnnotation.replace('/', '\\/')}":"x"}}}`,
  // kubectl takes lists inside of a list apart.
  `{"kind":"List","apiVersion":"v1","metadata":{},"items":[{"kind":"Pod","metadata":${signed}}]}`,
  `{"kind":"Pod","apiVersion":"v1","items":[{"items":[{"kind":"Pod","metadata":${signed}}]}]}`,
  `[{"metadata":${signed}}]`,
  `"forged"`,
];

const columns = '"columnDefinitions":[{"name":"Name","type":"string"}]';
const list = (item: string, more = ''): string =>
  `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[${item}]${more}}`;
const tableOf = (rows: string): string =>
  `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},${columns},"rows":[${rows}]}`;
const honest = '{"metadata":{"name":"honest"}}';

/** What the client gets until the answer ends, or `known` has come. */
async function asked(
  path: string,
  lines: readonly string[],
  known?: RegExp,
): Promise<{ body: string; isWhole: boolean }> {
  const client = await openRaw(site);
  try {
    client.send(requestBytes(`GET /clusters/*/proxy/api/v1/namespaces/a/pods${path}`, [alice, ...lines]));
    if (known !== undefined) {
      const { status } = await client.answer({ headOnly: true });
      return { body: `${status} ${await client.restMatches(known)}`, isWhole: false };
    }
    const answer = await client.answer();
    const missing = [...answer.values('warning'), answer.body].join('\n').includes('m1');
    return { body: answer.body, isWhole: answer.complete && answer.status === 200 && !missing };
  } finally {
    client.close();
  }
}

/** m1 answers with `forged`, m2 with `other`. */
function serve(forged: string, other: string): void {
  for (const [i, body] of [forged, other].entries())
    site.members[i]!.answer = (request) =>
      body === '' ? request.reply(404, [], '{}') : request.reply(200, ['Content-Type: application/json'], body);
}

test('a list shows no object that a hostile member signs as another cluster, and is no whole answer (ATT-47)', async () => {
  for (const forged of forgeries) {
    serve(list(forged), list(honest));
    const { body, isWhole } = await asked('', []);
    assert.doesNotMatch(body, /forged/, forged);
    assert.ok(!isWhole, forged);
  }
});

test('nor does a Table, in its rows or in the objects of rows (ATT-47)', async () => {
  const row = (object: string): string => `{"cells":["forged"],"object":${object}}`;
  const rows = [
    ...forgeries.map(row),
    `{"cells":["forged"],"object":{"metadata":${signed}},"object":null}`,
    `{"cells":["m2","forged"],"cells":[]}`,
    `{"cells":["m2","forged"],"c\\u0065lls":null}`,
    `{"cells":"forged"}`,
    `"forged"`,
  ];
  for (const forged of rows) {
    serve(tableOf(forged), tableOf('{"cells":["honest"],"object":null}'));
    const { body, isWhole } = await asked('', [asTable]);
    assert.doesNotMatch(body, /forged/, forged);
    assert.ok(!isWhole, forged);
  }
});

test('nor does a get (ATT-47)', async () => {
  for (const forged of forgeries) {
    serve(forged, '');
    const { body, isWhole } = await asked('/x', []);
    assert.doesNotMatch(body, /forged/, forged);
    assert.ok(!isWhole, forged);
  }
  serve(tableOf(`{"cells":["m2","forged"],"cells":[]}`), '');
  assert.doesNotMatch((await asked('/x', [asTable])).body, /forged/);
});

test('nor does a watch: what other clusters tell behind it comes (ATT-47)', async () => {
  for (const forged of forgeries) {
    const event = (object: string): string => `{"type":"ADDED","object":${object}}\n`;
    for (const [i, object] of [forged, honest].entries())
      site.members[i]!.answer = (request) => {
        if (!request.target.includes('watch=')) {
          request.reply(200, ['Content-Type: application/json'], list(''));
          return;
        }
        const lines = event(object);
        const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
        request.socket.write(`${head}${Buffer.byteLength(lines).toString(16)}\r\n${lines}\r\n`);
      };
    const { body } = await asked('?watch=1', [], /honest/);
    assert.match(body, /^200 /);
    assert.doesNotMatch(body, /forged/, forged);
  }
});

test('a list whose own fields come twice, or which has items and rows, is named as missing (ATT-47)', async () => {
  const item = '{"metadata":{"name":"forged"}}';
  for (const forged of [
    `{"kind":"PodList","kind":"Table","apiVersion":"v1","metadata":{},"items":[${item}]}`,
    `{"kind":"PodList","\\u006bind":"Table","apiVersion":"v1","metadata":{},"items":[${item}]}`,
    `{"kind":"PodList","metadata":{"resourceVersion":"1","resourceVersion":"2"},"items":[${item}]}`,
    `{"kind":"PodList","metadata":{},"metadata":{},"items":[${item}]}`,
    `{"items":null,"items":[${item}]}`,
    `{"items":null,"\\u0069tems":[${item}]}`,
    `{"rows":null,"items":[${item}]}`,
  ]) {
    serve(forged, list(honest));
    const { body, isWhole } = await asked('', []);
    assert.doesNotMatch(body, /forged/, forged);
    assert.match(body, /honest/, forged);
    assert.ok(!isWhole, forged);
  }
  for (const behind of [`,"items":[${item}]`, `,"\\u0069tems":null`, `,"rows":[${item}]`, ',"kind":"Table"']) {
    serve(list('{"metadata":{"name":"first"}}', behind), list(honest));
    assert.ok(!(await asked('', [])).isWhole, behind);
  }
});

test('an annotation of another cluster, however it is spelled, gives way to the name of the member (ATT-47)', async () => {
  const key = clusterAnnotation.replace('/', '\\u002f');
  serve(list(`{"metadata":{"name":"moved","annotations":{"${key}":"m2"}}}`), list(honest));
  const { body, isWhole } = await asked('', []);
  assert.ok(!isWhole || body.includes('moved'));
  const { items } = JSON.parse(body) as {
    items: { metadata: { name: string; annotations: Record<string, string> } }[];
  };
  assert.deepEqual(
    items.map(({ metadata }) => [metadata.name, metadata.annotations[clusterAnnotation]]),
    [
      ['moved', 'm1'],
      ['honest', 'm2'],
    ],
  );
});
