import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileTemplate } from '../template/template.ts';
import { readPediaClusterBody, UnreadableBody, type PediaClusterBody } from './pedia-cluster-body.ts';

/** What a tenant may write into the fields of a source object, to be more than a value. */
const hostile: Readonly<Record<string, unknown>> = {
  'new keys after an empty text': '""\n  authenticationFrom:\n    token: {name: SECRET, key: token}',
  'new keys after a text': 'x\n  authenticationFrom: {token: {name: SECRET, key: token}}',
  'new keys at the top': 'x\nmetadata: {labels: {a: SECRET}}',
  'new keys after a carriage return': '""\r  authenticationFrom: {token: {name: SECRET, key: token}}',
  'the end of a double-quoted text': 'x"\n  authenticationFrom: {token: {name: SECRET, key: token}}\n  shardingName: "',
  'the end of a single-quoted text': "x'\n  authenticationFrom: {token: {name: SECRET, key: token}}\n  shardingName: '",
  'the end of a flow mapping': 'x, authenticationFrom: {token: {name: SECRET, key: token}}}',
  'a key of the same name': 'x\n  certData: SECRET',
  'another document': 'x\n---\nspec: {authenticationFrom: {token: {name: SECRET, key: token}}}',
  'a document end': 'x\n...\nSECRET: x',
  'a mapping': 'authenticationFrom: SECRET',
  'a flow mapping': '{authenticationFrom: {token: {name: SECRET, key: token}}}',
  'a list': '[SECRET, x]',
  'a block list': '\n  - SECRET',
  'a merge key': '""\n  <<: {authenticationFrom: {token: {name: SECRET, key: token}}}',
  'an explicit key': '""\n  ? authenticationFrom\n  : {token: {name: SECRET, key: token}}',
  'an anchor': '&SECRET eA==',
  'an alias': '*own',
  'a tag': '!!binary SECRET',
  'a local tag': '!SECRET eA==',
  'a directive': '%TAG ! SECRET\n---\nx',
  'a comment': '#SECRET',
  'a block text': '|\n    SECRET',
  'a map of JSON': { authenticationFrom: { token: { name: 'SECRET', key: 'token' } } },
  'a list of JSON': ['SECRET', 'x'],
};

/** Where a template may print a value. */
const places: Readonly<Record<string, string>> = {
  unquoted: 'own: &own x\nspec:\n  apiserver: https://a\n  certData: {{ .v }}\n  syncAllCustomResources: true',
  'unquoted beside text': 'spec:\n  apiserver: https://{{ .v }}:6443\n  syncAllCustomResources: true',
  'unquoted in a list': 'spec:\n  syncResources:\n    - group: ""\n      resources:\n        - {{ .v }}\n',
  'in a flow mapping': 'spec: {certData: {{ .v }}, syncAllCustomResources: true}',
  'in a flow list': 'spec: {syncResources: [{group: "", resources: [{{ .v }}, pods]}]}',
  'double-quoted': 'spec:\n  certData: "{{ .v }}"\n  syncAllCustomResources: true',
  'single-quoted': "spec:\n  apiserver: '{{ .v }}'\n  syncAllCustomResources: true",
  'in a literal block': 'spec:\n  apiserver: |\n    {{ .v }}\n  syncAllCustomResources: true',
  'in a folded block': 'spec:\n  apiserver: >-\n    {{ .v }}\n  syncAllCustomResources: true',
  'in a comment': 'spec:\n  apiserver: https://a # {{ .v }}\n  syncAllCustomResources: true',
  'as JSON': 'spec:\n  certData: {{ .v | toJson }}\n  syncAllCustomResources: true',
  quoted: 'spec:\n  apiserver: {{ .v | quote }}\n  syncAllCustomResources: true',
  indented: 'spec:\n  apiserver: {{ .v | toJson | nindent 4 }}\n  syncAllCustomResources: true',
  'as a mapping': 'spec: {{ .v | toJson }}',
  'as the whole': '{{ .v }}',
  'as a key': 'spec: { "{{ .v }}": x }',
  'as an unquoted key': 'spec:\n  {{ .v }}: x',
  'as a field': 'spec:\n  apiserver: https://a\n  {{ .v }}',
  'as a label': 'metadata:\n  labels: { a: {{ .v }} }',
  'as labels': 'metadata:\n  labels: {{ .v | toJson }}',
  'as a tag': 'spec: { apiserver: !{{ .v }} x }',
  'as an anchor': 'spec: { apiserver: &{{ .v }} x }',
  'after a tag': 'spec: { apiserver: !!str {{ .v }} }',
};

const read = (template: string, data: unknown): PediaClusterBody =>
  readPediaClusterBody(compileTemplate(template).renderParts(data));

function refusal(template: string, data: unknown): string | undefined {
  try {
    read(template, data);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof UnreadableBody, String(error));
    return error.message;
  }
}

/** The fields of a body, without what stands in them. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return 'value';
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shapeOf(member)]));
}

test('whatever a source object holds, its values bring no field, and a refusal quotes none of them (ATT-62)', () => {
  for (const [where, template] of Object.entries(places)) {
    const plain = refusal(template, { v: 'eA==' }) === undefined ? shapeOf(read(template, { v: 'eA==' })) : undefined;
    for (const [what, v] of Object.entries(hostile)) {
      const message = refusal(template, { v });
      if (message === undefined) assert.deepEqual(shapeOf(read(template, { v })), plain, `${where}: ${what}`);
      else assert.doesNotMatch(message, /SECRET|q[0-9a-f]{16}/, `${where}: ${what}`);
    }
  }
});

test('a refusal names the field that an action prints', () => {
  const v = '""\n  authenticationFrom:\n    token: {name: prod-credential, key: token}';
  for (const [template, words] of [
    ['spec:\n  certData: {{ .v }}\n', /line 2, column \d+: spec\.certData is printed by an action .*toJson/],
    ['spec: { certData: "{{ .v }}" }', /spec\.certData is not valid base64/],
    [
      'spec: { syncResources: [{ group: "", resources: [pods, {{ .v }}] }] }',
      /spec\.syncResources\[0\]\.resources\[1\] is/,
    ],
    ['metadata: { labels: { {{ .v | toJson }}: x } }', /metadata\.labels has a key that an action prints/],
    ['metadata: { labels: { {{ range $k, $v := .m }}{{ $k }}: {{ $v }},{{ end }} } }', /metadata\.labels has a key/],
    ['spec:\n{{ range $k, $v := .m }}  {{ $k }}: {{ $v }}\n{{ end }}', /spec has a key that an action prints/],
    ['x: &x {{ .v | toJson }}\nspec: { *x : y }', /spec has a key that an action prints/],
    ['spec: {{ .m | toJson }}', /spec is printed by an action/],
  ] as const)
    assert.match(refusal(template, { v, m: { certData: 'eA==' } }) ?? '', words, template);
});

test('values arrive as they are, with toJson, in quotes and as they stand', () => {
  const v = `a/?b=1&c=<2>"'\\ #: ä`;
  for (const template of [
    'spec: { apiserver: {{ .v | toJson }} }',
    '{"spec": {"apiserver": {{ .v | toJson }}}}',
    `spec: { apiserver: '{{ .v }}' }`,
    'spec: { apiserver: "{{ .v }}" }',
  ])
    assert.equal(read(template, { v }).spec.apiserver, v, template);
  const { spec, labels } = read(
    'metadata: { labels: { a: "{{ .n }}", {{ "b" }}: x } }\nspec:\n  apiserver: https://{{ .host }}:{{ .port }}/\n' +
      '  caData: {{ .ca }}\n  tokenData: {{ .none }}\n  syncAllCustomResources: {{ .all }}',
    { n: 1, host: 'a', port: 6443, ca: 'eA==\n', all: true },
  );
  assert.deepEqual(labels, { a: '1', b: 'x' });
  assert.deepEqual(spec, { apiserver: 'https://a:6443/', caData: 'eA==', syncAllCustomResources: true });
});

test('the Secret of authenticationFrom is one that the policy names, and no source object chooses it (ATT-62)', () => {
  const literal = 'spec: { authenticationFrom: { token: { name: hub-token, key: {{ "token" }} } } }';
  assert.deepEqual(read(literal, {}).spec['authenticationFrom'], { token: { name: 'hub-token', key: 'token' } });
  for (const from of [
    '{ token: { name: {{ .v }}, key: token } }',
    '{ token: { name: "{{ .v }}-token", key: token } }',
    '{ token: { name: token, key: {{ .v | toJson }} } }',
    '{ token: {{ dict "name" .v "key" "token" | toJson }} }',
    '{{ dict "token" (dict "name" .v "key" "token") | toJson }}',
    '{ token: { name: *named, key: token } }',
    '*from',
  ])
    assert.match(
      refusal(
        `named: &named {{ .v }}\nother: &from { token: { name: *named, key: token } }\nspec: { authenticationFrom: ${from} }`,
        { v: 'prod-credential' },
      ) ?? '',
      /spec\.authenticationFrom(\.token(\.\w+)?)? must stand in the template's own text/,
      from,
    );
  assert.match(
    refusal('all: &all { authenticationFrom: { token: { name: {{ .v }}, key: k } } }\nspec: *all', { v: 'x' }) ?? '',
    /authenticationFrom\.token\.name must stand/,
  );
});
