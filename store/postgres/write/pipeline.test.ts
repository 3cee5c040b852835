import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientBase } from 'pg';

import { bytesOf, run } from './pipeline.ts';

/** What the driver calls for messages of the server. */
interface Receiver {
  readonly submit: (connection: unknown) => void;
  readonly handleDataRow: (message: { readonly fields: readonly string[] }) => void;
  readonly handleCommandComplete: () => void;
  readonly handleError: (error: Error) => void;
  readonly handleReadyForQuery: () => void;
}

/** A connection that notes what is sent, and answers as it is told once all is sent. */
function clientOf(answer: (receiver: Receiver) => void) {
  const sent: string[] = [];
  const connection = {
    stream: { cork: () => sent.push('cork'), uncork: () => sent.push('uncork') },
    parse: ({ text }: { readonly text: string }) => sent.push(text),
    bind: ({ values }: { readonly values: readonly unknown[] }) => sent.push(`values ${values.join()}`),
    execute: () => sent.push('execute'),
    sync: () => sent.push('sync'),
  };
  const query = (receiver: Receiver): void => {
    receiver.submit(connection);
    answer(receiver);
  };
  return { client: { query } as unknown as ClientBase, sent };
}

const statements = [
  { text: 'one', values: ['1'] },
  { text: 'two', values: [] },
];

test('statements go out together with one end, so that the server skips the rest of a failed write', async () => {
  const { client, sent } = clientOf((receiver) => receiver.handleReadyForQuery());
  await run(client, statements);
  assert.deepEqual(sent, ['cork', 'one', 'values 1', 'execute', 'two', 'values ', 'execute', 'sync', 'uncork']);
});

test('each statement gets its own rows', async () => {
  const { client } = clientOf((receiver) => {
    receiver.handleDataRow({ fields: ['a'] });
    receiver.handleDataRow({ fields: ['b'] });
    receiver.handleCommandComplete();
    receiver.handleDataRow({ fields: ['\\x00ff'] });
    receiver.handleCommandComplete();
    receiver.handleReadyForQuery();
  });
  const [one, two] = await run(client, statements);
  assert.deepEqual(one, [['a'], ['b']]);
  assert.deepEqual(bytesOf(two![0]![0]!), Buffer.from([0, 255]));
});

test('what the server refuses is thrown', async () => {
  const { client } = clientOf((receiver) => {
    receiver.handleCommandComplete();
    receiver.handleError(new Error('refused'));
    receiver.handleReadyForQuery();
  });
  await assert.rejects(run(client, statements), /refused/);
});
