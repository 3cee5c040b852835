// Writes a file with Go's results for a fixed set of templates, for tests that run without Go. Run it with `node
// test/fuzz/templates/record.ts` after a change of the set below or of the template functions.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRandom } from '../../../bench/figures/statistics.ts';
import { sampleData, TemplateGrammar } from './grammar.ts';
import { startTemplateOracle } from './oracle.ts';

/** Templates for behaviour that authors of policies rely on, and for cases in which template engines often differ. */
const written = [
  'plain',
  '{{ .source.spec.missing }}|{{ .source.missing.more }}|{{ .source.spec.none }}',
  '{{ .source.spec.none.more }}',
  '{{ .source.metadata.name.more }}',
  '{{ index .source.spec.missing "a" }}',
  '{{ ne .source.spec.missing "" }}{{ eq .source.spec.missing "" }}{{ eq nil "" }}',
  '{{ eq 3 "3" }}',
  '{{ eq .source.metadata.name "a" "b" "c1" }}',
  '{{ range .source.spec.missing }}x{{ else }}none{{ end }}',
  '{{ get .source.spec.missing "a" }}{{ hasKey .source.spec.missing "a" }}',
  '{{ hasPrefix "x" .source.spec.missing }}',
  '{{ b64dec .source.data.config }}|{{ b64dec .source.data.bad }}|{{ b64dec .source.data.value }}',
  '{{ .source.spec.apiEndpoint }}|{{ .source.spec.text }}|{{ toJson .source.spec.text }}',
  '{{ .source.metadata.labels }}|{{ .source.spec.ports }}|{{ .source.spec.weight }}|{{ .source.spec.huge }}',
  '{{ range $i, $e := .source.spec.names }}{{ if eq $e "c" }}{{ break }}{{ end }}{{ $i }}={{ $e }};{{ end }}',
  '{{ range $k, $v := .source.metadata.labels }}{{ $k }}={{ $v }};{{ end }}',
  '{{ range 3 }}{{ . }}{{ end }}',
  '{{ define "a" }}<{{ . }}>{{ end }}{{ template "a" .source.metadata.name }}{{ block "b" 1 }}{{ . }}{{ end }}',
  '{{- with .source.spec.missing }}x{{ else with .source.metadata.name }}{{ . }}{{ end -}} ',
  '{{ if false }}a{{ else if true }}b{{ else }}c{{ end }}',
  '{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}',
  '{{ (index .source.status.conditions 0).status | lower | quote }}',
  '{{ .source.metadata.name | printf "%s-%s" "a" | trimPrefix "a-" | upper }}',
  '{{ "a" | .source.metadata.name }}',
  '{{ default "d" .source.spec.missing }}{{ coalesce nil "" "c" }}{{ ternary 1 2 true }}',
  '{{ regexReplaceAll "c([0-9]+)" .source.metadata.name "${1}-$1x" }}{{ regexFind "[0-9]+" "a12b" }}',
  '{{ dict "a" 1 "b" (list 1 "x" nil) | toJson }}{{ fromJson .source.data.json }}',
  '{{ trunc 3 "abcdef" }}{{ trunc -2 "abcdef" }}{{ substr 1 3 "abcdef" }}{{ len "\\u00e9" }}',
  '{{ sha256sum "a" }}',
  '{{ $m := dict "a" 1 }}{{ $_ := set $m "b" 2 }}{{ $m }}{{ merge $m (dict "a" 3 "c" 4) }}{{ set .source.spec.missing "a" 1 }}',
  '{{ urlParse .source.spec.apiEndpoint }}',
  '{{ "unclosed }}',
  '{{ if true }}',
  '{{ end }}',
  '{{ nosuch 1 }}',
  '{{ $undefined }}',
  '{{ 1 | 2 }}',
  '{{/* comment */}}a{{- /* trimmed */ -}} b',
];

const random = new TemplateGrammar(createRandom(1));
const templates = [...written, ...Array.from({ length: 300 }, () => random.next().template)];
const oracle = await startTemplateOracle();
const answers = await oracle.ask(templates.map((template) => ({ template, data: sampleData })));
oracle.close();
const cases = templates.map((template, i) => {
  const { failed, message, output } = answers[i]!;
  return { template, failed, message, output: output.toString('base64') };
});
const file = join(import.meta.dirname, '../../../import/template/go-cases.fixture.json');
writeFileSync(file, `${JSON.stringify({ data: sampleData, cases }, undefined, 1)}\n`);
process.stdout.write(`${cases.length} cases\n`);
