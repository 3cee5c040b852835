// A process that evaluates what authors write as the gateway does, and answers requests of others meanwhile. It is told
// cases by messages, one at a time.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { ApiObject } from '../../../kube/types.ts';
import { withoutIgnored } from '../../../distribute/apply/ignore-fields.ts';
import { readConditionRule, readFeedbackRule } from '../../../distribute/work/manifest-config.ts';
import { readFeedback } from '../../../distribute/feedback/feedback-values.ts';
import { makeRuleEvaluator } from '../../../distribute/feedback/rule-evaluator.ts';
import { chooseSources } from '../../../import/policies/choose-sources.ts';
import { makeTemplateRenderer } from '../../../import/render/renderer.ts';
import type { JsonObject } from '../../../lib/objects/json-object.ts';
import { makeOpenStreams } from '../../../routing/forward/open-streams.ts';
import { sendRows } from '../../../search/answer/row-stream.ts';
import { tableDocument } from '../../../search/api/forms.ts';
import { tableOf } from '../../../search/table/table.ts';
import type { RowRead } from '../../../store/store.ts';
import type { TypeInfo } from '../../../query/types.ts';
import type { IndexRequest } from '../../../search/request/request.ts';
import { objects, type ExpensiveCase } from './grammar.ts';

/** What the process says: its port at the start, then one answer for each case. */
export type HostSaid =
  | { readonly port: number }
  | { readonly outcome: string; readonly ms: number; readonly heapBytes: number };

const evaluator = makeRuleEvaluator();
const renderer = makeTemplateRenderer();
const made = Object.fromEntries(Object.entries(objects).map(([name, make]) => [name, make() as JsonObject]));

async function evaluate(given: ExpensiveCase): Promise<string> {
  const object = made[given.object]!;
  switch (given.kind) {
    case 'rules': {
      const rules = given.expressions.map((one) =>
        readConditionRule({ condition: 'C', type: 'CEL', celExpressions: [one] }),
      );
      return (await evaluator.evaluate('c', object, rules)).map(({ message }) => message).join(' ');
    }
    case 'feedback': {
      const jsonPaths = given.paths.map((path, i) => ({ name: `p${i}`, path }));
      const { outcome } = readFeedback(object, [readFeedbackRule({ type: 'JSONPaths', jsonPaths })], true);
      return outcome?.fault ?? 'values';
    }
    case 'ignoreFields': {
      const rule = { condition: 'OnSpokePresent', jsonPaths: given.paths, jsonPointers: [], jqPathExpressions: [] };
      withoutIgnored(object, [rule as never]);
      return 'fields';
    }
    case 'columns':
      return await sendTable(object, given.paths, given.rows);
    case 'policy': {
      const sources = Array.from({ length: given.sources }, (_, i) => ({
        ...object,
        metadata: { ...(object as unknown as ApiObject).metadata, name: `s${i}` },
      })) as unknown as ApiObject[];
      const [selector, name = selector!] = given.templates;
      for (const template of given.templates) await renderer.check('p', template);
      const named = new Map(sources.map((one) => [`ns/${one.metadata.name}`, one]));
      const render = (template: string, data: unknown) => renderer.render('p', template, data);
      const { faults } = await chooseSources({ selector, name }, render, named, new WeakMap());
      const body = renderer.renderPediaCluster('p', name, { source: sources[0] });
      return [...faults, await body.then(String, ({ message }: Error) => message)].join(' ');
    }
  }
}

async function sendTable(object: JsonObject, paths: readonly string[], count: number): Promise<string> {
  const columns = paths.map((jsonPath, i) => ({ name: `c${i}`, type: 'string', description: '', jsonPath }));
  const type = { group: 'example.org', resource: 'things', version: 'v1', printerColumns: { v1: columns } };
  const table = tableOf(type as unknown as TypeInfo, 'v1', Date.now());
  const document = tableDocument(table, { resourceVersion: '1' } as never, () => Buffer.from('{}'), 'None');
  const raw = Buffer.from(JSON.stringify(object));
  const chunks = (async function* () {
    yield Array.from({ length: count }, () => ({ cluster: 'c', raw }) as unknown as RowRead);
  })();
  let bytes = 0;
  const inbound = {
    method: 'GET',
    respond: () => undefined,
    write: (chunk: Buffer) => (bytes += chunk.length) > 0,
    end: () => undefined,
    onDrain: () => undefined,
    onClose: () => undefined,
  };
  const request = { inbound, progress: { bytesOut: 0 }, headers: [], auditId: 'id', query: '', outcome: {} };
  const parts = { openStreams: makeOpenStreams(), onError: (error: unknown) => console.error(error) };
  await sendRows(request as unknown as IndexRequest, document, { chunks }, [], parts);
  return `${bytes} bytes`;
}

async function answer(given: ExpensiveCase): Promise<void> {
  const startedMs = performance.now();
  const outcome = await evaluate(given).catch((error: Error) => `${error.name}: ${error.message}`);
  const said = { outcome: outcome.slice(0, 200), ms: performance.now() - startedMs };
  process.send!({ ...said, heapBytes: process.memoryUsage().rss } satisfies HostSaid);
}

process.on('message', (given: ExpensiveCase) => void answer(given));
const server = createServer((_, response) => response.end('ok'));
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port } satisfies HostSaid));
