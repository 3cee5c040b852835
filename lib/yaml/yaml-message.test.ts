import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDocument } from 'yaml';
import { yamlFaultText } from './yaml-message.ts';

/** Everything the parser says of a text. */
function messages(text: string): string[] {
  const document = parseDocument(text, { logLevel: 'error' });
  const found = [...document.errors, ...document.warnings].map(({ message }) => message);
  try {
    document.toJS();
  } catch (error) {
    found.push((error as Error).message);
  }
  return found;
}

test('what the YAML parser quotes of a file is not repeated, wherever it stands in the message', () => {
  const quoting = [
    'a: b\n- c\n]   d: "SECRET"\n',
    'a: *SECRET\n',
    'a: !SECRET b\n',
    'a: !<SECRET> b\n',
    'a: !SECRET!b c\n',
    'a: !SECRET! c\n',
    '%SECRET a\n---\na: b\n',
    '%YAML SECRET\n---\na: b\n',
    'a: |SECRET\n  b\n',
    'a: "\\USECRETxx"\n',
    '- !!map [SECRET]\n',
    'a: {b: c SECRET: "d"\n',
  ];
  for (const text of quoting) {
    const said = messages(text);
    assert.ok(said.length > 0, text);
    for (const message of said) assert.doesNotMatch(yamlFaultText(message), /SECRET/, `${text}: ${message}`);
  }
});

test('what is left still says what is wrong', () => {
  assert.equal(yamlFaultText('Unexpected scalar token in YAML stream: "x"'), 'Unexpected scalar token in YAML stream');
  assert.equal(yamlFaultText('Missing , or : between flow-map items'), 'Missing , or : between flow-map items');
  assert.equal(yamlFaultText('Map keys must be unique at line 3, column 1:\n\na: b'), 'Map keys must be unique');
});
