import assert from 'node:assert/strict';
import { it } from 'node:test';
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { readMemberEvent } from './watch-event.ts';

const read = (text: string): ReturnType<typeof readMemberEvent> => readMemberEvent(Buffer.from(text));

it('the object of a change is the bytes it was, in any order of the members', () => {
  const object = '{"b":1.0,"a":{"object":{}}}';
  for (const line of [
    `{"type":"ADDED","object":${object}}`,
    `{"object":${object},"type":"ADDED"}`,
    ` { "type" : "ADDED" , "object" : ${object} } `,
  ]) {
    const event = read(line);
    assert.equal(event.type, 'ADDED');
    assert.equal('object' in event && event.object.toString().trim(), object);
  }
});

it('bookmarks and errors are read as values', () => {
  assert.deepEqual(read('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}'), {
    type: 'BOOKMARK',
    resourceVersion: '9',
  });
  assert.deepEqual(read('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}'), {
    type: 'ERROR',
    status: { code: 410, reason: 'Expired' },
  });
});

it('what is no event is refused', () => {
  for (const line of [
    '',
    '{}',
    'null',
    '{"type":"ADDED"}',
    '{"type":"MOVED","object":{}}',
    '{"type":"BOOKMARK","object":{}}',
  ]) {
    assert.throws(() => read(line), MalformedAnswer);
  }
});
