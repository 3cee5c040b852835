import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Failure } from '../../terminal/failure.ts';
import { makeFolder } from '../../stub-gateway.fixture.ts';
import { objectName } from './manifest.ts';
import { readManifests } from './read-manifests.ts';
import type { Manifests, ManifestSources } from './read-manifests.ts';

describe('manifests', () => {
  const folder = makeFolder();

  const read = (text: string, labels: Readonly<Record<string, string>> = {}): Promise<Manifests> =>
    readManifests({ filename: [folder.write('read.yaml', text)] }, labels, 'default');
  const namesOf = ({ objects }: Manifests): readonly string[] => objects.map(objectName);
  const refusal = async (sources: ManifestSources): Promise<string> => {
    const error: unknown = await readManifests(sources, {}, 'default').catch((error: unknown) => error);
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.exitCode, 2);
    return `${error.message}\n${error.nextStep}`;
  };
  const configMap = (name: string): string => `{apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}}}\n`;

  test('are read as kubectl reads them: YAML 1.1 without its times and numbers to the base of sixty', async () => {
    const { objects } = await read(`apiVersion: v1
kind: Odd
metadata: {name: odd}
values:
  mode: 0644
  truth: yes
  off: off
  time: 2026-01-02T03:04:05Z
  day: 2026-01-02
  ports: 22:22
  large: 9007199254740993
  float: 1.5
  none: ~
  7: seven
  base: &base {a: 1}
  merged: {<<: *base, b: 2}
`);
    const { body } = objects[0]!;
    assert.match(body, /"large":9007199254740993,/);
    const { values } = JSON.parse(body) as { values: object };
    assert.deepEqual(
      { ...values, large: 0 },
      {
        ...{ mode: 0o644, truth: true, false: false, time: '2026-01-02T03:04:05Z', day: '2026-01-02', ports: '22:22' },
        ...{ large: 0, float: 1.5, none: null, 7: 'seven', base: { a: 1 }, merged: { a: 1, b: 2 } },
      },
    );
  });

  test('are ordered: Namespaces, CustomResourceDefinitions, and the rest as they come; lists are expanded', async () => {
    const text = `# nothing yet
---
apiVersion: v1
kind: List
items:
  - ${configMap('b')}
  - ${configMap('a')}
---
${'{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "w"}}'}
---
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
`;
    assert.deepEqual(namesOf(await read(text)), [
      'namespace/shop',
      'customresourcedefinition.apiextensions.k8s.io/w',
      'configmap/b',
      'configmap/a',
    ]);
  });

  test('folders are read by name, those below only with -R', async () => {
    const path = join(folder.path, 'tree');
    mkdirSync(join(path, 'below'), { recursive: true });
    for (const name of ['2.yml', '1.json', 'below/3.yaml', 'README.md']) {
      writeFileSync(join(path, name), name === 'README.md' ? 'text' : configMap(`c${/\d/.exec(name)?.[0]}`));
    }
    assert.deepEqual(namesOf(await readManifests({ filename: [path] }, {}, 'default')), [
      'configmap/c1',
      'configmap/c2',
    ]);
    const all = await readManifests({ filename: [path], recursive: true }, {}, 'default');
    assert.deepEqual(namesOf(all), ['configmap/c1', 'configmap/c2', 'configmap/c3']);
    rmSync(path, { recursive: true });
  });

  test('links below a folder lead to files and never into other folders; what is no manifest is not looked at', async () => {
    const path = join(folder.path, 'linked');
    mkdirSync(join(path, 'stage', 'below'), { recursive: true });
    mkdirSync(join(path, 'live.yaml'));
    writeFileSync(join(path, 'live.yaml', '1.yaml'), configMap('live'));
    writeFileSync(join(path, 'shared'), configMap('shared'));
    const stage = join(path, 'stage');
    symlinkSync('../live.yaml', join(stage, 'live'));
    symlinkSync('../live.yaml', join(stage, 'live.yaml'));
    symlinkSync('.', join(stage, 'loop'));
    symlinkSync('nowhere', join(stage, 'README-link'));
    symlinkSync('../../shared', join(stage, 'below', 'shared.yaml'));
    writeFileSync(join(stage, 'own.yaml'), configMap('own'));
    const named = async (filename: string, recursive: boolean): Promise<readonly string[]> =>
      namesOf(await readManifests({ filename: [filename], recursive }, {}, 'default'));
    assert.deepEqual(await named(stage, false), ['configmap/own']);
    assert.deepEqual(await named(stage, true), ['configmap/shared', 'configmap/own']);
    assert.deepEqual(await named(join(stage, 'live'), true), ['configmap/live']);
    symlinkSync('nowhere', join(stage, 'gone.yaml'));
    assert.match(await refusal({ filename: [stage] }), /cannot read .*gone\.yaml: ENOENT/);
    rmSync(path, { recursive: true });
  });

  test('one of more than a mebibyte and five thousand of them are read whole', async () => {
    const large = `${configMap('large').trimEnd().slice(0, -1)}, data: {text: ${'x'.repeat(1_500_000)}}}\n`;
    const many = Array.from({ length: 5000 }, (_, i) => configMap(`c${i}`)).join('---\n');
    const { objects } = await read(`${large}---\n${many}`);
    assert.equal(objects.length, 5001);
    assert.ok(objects[0]!.body.length > 1_500_000);
  });

  test('labels of a set go onto every object, and the hash follows every change', async () => {
    const plain = await read(configMap('a'));
    const labelled = await read(configMap('a'), { 'example.com/set': 'x' });
    assert.match(labelled.objects[0]!.body, /"labels":\{"example\.com\/set":"x"\}/);
    assert.notEqual(plain.hash, labelled.hash);
    assert.equal(plain.hash, (await read(`# a comment\n${configMap('a')}`)).hash);
    assert.notEqual(plain.hash, (await read(configMap('b'))).hash);
  });

  test('texts of a Secret come into its data, as a server would store them', async () => {
    const { objects } = await read(
      '{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: eA==, b: eA==}, stringData: {b: yy}}',
    );
    const { data, stringData } = JSON.parse(objects[0]!.body) as { data: object; stringData?: object };
    assert.deepEqual([data, stringData], [{ a: 'eA==', b: 'eXk=' }, undefined]);
  });

  test('a stringData of other things than texts is left to the API server, which refuses it; null is an empty text', async () => {
    const bodyOf = async (stringData: string): Promise<unknown> => {
      const { objects } = await read(`{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: ${stringData}}`);
      const {
        metadata: _,
        apiVersion: __,
        kind: ___,
        ...rest
      } = JSON.parse(objects[0]!.body) as Record<string, unknown>;
      return rest;
    };
    assert.deepEqual(await bodyOf('{user: app, password: }'), { data: { user: 'YXBw', password: '' } });
    for (const [written, sent] of [
      ['1.10', 1.1],
      ['0123', 83],
      ['yes', true],
      ['[a]', ['a']],
    ] as const)
      assert.deepEqual(await bodyOf(`{a: b, k: ${written}}`), { stringData: { a: 'b', k: sent } });
    assert.deepEqual(await bodyOf('text'), { stringData: 'text' });
  });

  test('numbers beyond 2^53 and odd texts are sent as they were written', async () => {
    const { objects } = await read(
      '{apiVersion: v1, kind: X, metadata: {name: x}, id: 9007199254740993, uid: 18446744073709551615, a: ., b: e2}',
    );
    assert.equal(
      objects[0]!.body,
      '{"apiVersion":"v1","kind":"X","metadata":{"name":"x"},"id":9007199254740993,"uid":18446744073709551615,"a":".","b":"e2"}',
    );
  });

  test('what is no manifest is refused with its place', async () => {
    const wrong: readonly (readonly [text: string, message: RegExp])[] = [
      ['a: b\n---\n{apiVersion: v1', /without apiVersion and kind/],
      [`${configMap('a')}---\na: [\n`, /read\.yaml, line 4: Flow sequence .* end with a \]/],
      ['{apiVersion: v1, kind: Pod, metadata: {generateName: a}}', /a Pod without metadata\.name/],
      [`${configMap('a')}---\n${configMap('a')}`, /configmap\/a comes twice: in .*read\.yaml and in/],
      [
        `${configMap('a')}---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}`,
        /configmap\/a comes twice/,
      ],
      ['{apiVersion: v1, kind: Pod, metadata: {name: no}}', /metadata\.name of a Pod is no text\n.*quotes/],
      ['{apiVersion: v1, kind: ConfigMap, metadata: {name: ..}}', /"\.\." cannot be a name\n.*metadata\.name/],
      ['{apiVersion: v1, kind: Role, metadata: {name: a/b}}', /"a\/b" cannot be a name/],
      ['{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ..}}', /"\.\." cannot be a namespace/],
      ['# nothing\n', /there is no object/],
    ];
    for (const [text, message] of wrong) {
      assert.match(await refusal({ filename: [folder.write('read.yaml', text)] }), message);
    }
  });

  test('-k without kubectl says what to do', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = folder.path;
    try {
      assert.match(await refusal({ kustomize: 'overlay' }), /no kubectl on the PATH\n.*kustomize build overlay \|/);
    } finally {
      process.env['PATH'] = path;
    }
  });

  test('-k runs kubectl kustomize and reads what it prints', async () => {
    const path = process.env['PATH'];
    const script = `#!/bin/sh\necho '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"'$1-$2'"}}'\n`;
    writeFileSync(join(folder.path, 'kubectl'), script, { mode: 0o755 });
    process.env['PATH'] = `${folder.path}:${path}`;
    try {
      assert.deepEqual(namesOf(await readManifests({ kustomize: 'o' }, {}, 'default')), ['configmap/kustomize-o']);
    } finally {
      process.env['PATH'] = path;
    }
  });
});
