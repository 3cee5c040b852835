import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind } from '../api/kube.ts';
import { facetsOf, kubectlLine, quoted, readQuestion, toggled, wordsOf } from './question.ts';

const pods: Kind = {
  id: 'pods',
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  namespaced: true,
  shortNames: ['po'],
};
const [cluster, , phase] = facetsOf(pods);

test('words of the bar become the parameters of the index', () => {
  const asked = (text: string): string =>
    decodeURIComponent(String(readQuestion(text).parameters).replaceAll('+', ' '));
  assert.equal(asked('cluster:a,b ns:shop'), 'clusters=a,b&namespaces=shop');
  assert.equal(asked('cluster:a cluster:b name:x name:y'), 'clusters=a,b&nameContains=x&nameContains=y');
  assert.equal(asked('label:app=web label:tier=front'), 'labelSelector=app=web,tier=front');
  assert.equal(asked('status.phase!=Running spec.replicas>3'), 'filter=status.phase!=Running&filter=spec.replicas>3');
  assert.equal(asked('image~redis phase=Failed'), 'filter=spec.containers[].image~redis&filter=status.phase=Failed');
  assert.equal(asked('"two words" plain'), 'text=two words&text=plain');
  assert.equal(asked('!metadata.labels.x spec.nodeName'), 'filter=!metadata.labels.x&filter=spec.nodeName');
  assert.equal(
    readQuestion('image=nginx', 'deployments').parameters.get('filter'),
    'spec.template.spec.containers[].image=nginx',
  );
});

test('a kind in the text is taken out of it', () => {
  const { kind, words, parameters } = readQuestion('kind:deploy ns:shop');
  assert.deepEqual([kind, words, String(parameters)], ['deploy', ['ns:shop'], 'namespaces=shop']);
});

test('quotes keep a word together, and one that is never closed loses nothing else', () => {
  assert.deepEqual(wordsOf(String.raw`a "b \" c" d='e f' g`), ['a', String.raw`"b \" c"`, "d='e f'", 'g']);
  assert.deepEqual(wordsOf('a "b c'), ['a', 'b', 'c']);
});

test('a click on a facet adds its value, and a second one takes it away', () => {
  const one = toggled(cluster!, 'a', 'ns:shop');
  assert.equal(one, 'ns:shop cluster:a');
  assert.equal(toggled(cluster!, 'b', one), 'ns:shop cluster:a,b');
  assert.equal(toggled(cluster!, 'a', one), 'ns:shop');
  assert.equal(toggled(phase!, 'Failed', 'phase=Running'), 'phase=Failed');
});

test('the command has the flags that kubectl has, and else the path of the API', () => {
  const line = (text: string): string => kubectlLine(pods, '/p/pods', readQuestion(text).parameters);
  assert.equal(line(''), 'kubectl --context portcullis-all get pods -A');
  assert.equal(line('ns:shop label:app=web'), 'kubectl --context portcullis-all get pods -n shop -l app=web');
  assert.equal(
    line('image~x'),
    "kubectl --context portcullis get --raw '/p/pods?filter=spec.containers%5B%5D.image%7Ex'",
  );
});

test('a word for the shell can hold nothing that the shell would run', () => {
  assert.equal(quoted('web-1'), 'web-1');
  assert.equal(quoted("$(x)'; y"), String.raw`'$(x)'\''; y'`);
});

test('whatever an address says, the command that people copy runs nothing but kubectl', () => {
  const { parameters } = readQuestion('ns:shop;touch$IFS/tmp/x', 'pods');
  assert.equal(
    kubectlLine(pods, '/api/v1/pods', parameters),
    "kubectl --context portcullis-all get pods -n 'shop;touch$IFS/tmp/x'",
  );
});
