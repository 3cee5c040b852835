import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readinessOf } from './readiness.ts';
import { apiKinds } from './api-kinds.ts';
import { apiVerdicts } from './api-verdicts.fixture.ts';
import { argoDataKinds } from './argo-data-kinds.ts';
import { argoDataVerdicts } from './argo-data-verdicts.fixture.ts';
import { argoKinds } from './argo-kinds.ts';
import { argoVerdicts } from './argo-verdicts.fixture.ts';
import { builtInKinds } from './built-in.ts';
import { ruleOf } from './kinds.ts';

interface Case {
  readonly apiVersion: string;
  readonly kind: string;
  readonly parts: object;
  readonly is: string;
}

function casesOf(table: string): readonly Case[] {
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [kind, json, is] = line.split(' | ') as [string, string, string];
      const [apiVersion, name] = kind.split(' ') as [string, string];
      return { apiVersion, kind: name, parts: JSON.parse(json, withConditions) as object, is };
    });
}

/** Turns `Ready=True:Reason@2` into a condition. */
function withConditions(key: string, value: unknown): unknown {
  if (key !== 'conditions' || !Array.isArray(value)) return value;
  return value.map((each: unknown) => {
    if (typeof each !== 'string') return each;
    const [, type, status, reason, generation] = /^(.+?)=(\w+)(?::([^@]+))?(?:@(\d+))?$/.exec(each)!;
    const dated = generation === undefined ? {} : { observedGeneration: Number(generation) };
    return { type, status, ...(reason === undefined ? {} : { reason }), ...dated };
  });
}

const rows = [...argoKinds, ...argoDataKinds, ...apiKinds];
const cases = [argoVerdicts, argoDataVerdicts, apiVerdicts].flatMap(casesOf);

test('readiness of the kinds of operators follows their rules', () => {
  assert.ok(cases.length > 500);
  for (const { apiVersion, kind, parts, is } of cases) {
    const { state, ...rest } = readinessOf({ apiVersion, kind, ...parts });
    const reported = 'reason' in rest ? `${state}: ${rest.reason}` : state;
    assert.equal(reported, is, `${apiVersion} ${kind} ${JSON.stringify(parts)}`);
  }
});

test('each rule is seen to say ready and something else', () => {
  const seen = Map.groupBy(cases, ({ apiVersion, kind }) => ruleOf(`${kind}.${apiVersion.split('/')[0]}`));
  const isOf = (group: string, apiVersion: string): boolean =>
    group.startsWith('*') ? apiVersion.split('/')[0]!.endsWith(group.slice(1)) : apiVersion.startsWith(`${group}/`);
  const silent = rows.filter(([group, , rule]) => {
    const states = (seen.get(rule) ?? []).filter(({ apiVersion }) => isOf(group, apiVersion)).map(({ is }) => is);
    return !states.includes('ready') || states.every((is) => is === 'ready');
  });
  assert.deepEqual(
    silent.map(([group, kinds]) => `${kinds} ${group}`),
    [],
  );
});

test('no kind has two rules, or a rule beside a judge', () => {
  const kinds = rows.flatMap(([group, names]) => names.split(' ').map((name) => `${name}.${group}`));
  assert.ok(kinds.length > 280);
  assert.deepEqual(
    kinds.filter((kind, index) => kinds.indexOf(kind) !== index || builtInKinds.has(kind)),
    [],
  );
});

test('rules are found by kind, by group and by the end of a group', () => {
  assert.equal(ruleOf('Certificate.cert-manager.io')?.waits, 'Issuing');
  assert.equal(ruleOf('VMAgent.operator.victoriametrics.com')?.ready?.['updateStatus']?.[0], 'operational');
  assert.equal(ruleOf('Bucket.s3.aws.crossplane.io')?.holds, 'Ready Synced LastAsyncOperation');
  assert.equal(ruleOf('ProviderConfig.aws.crossplane.io'), undefined);
  for (const kind of ['Pod', 'constructor', '__proto__.x', 'Certificate.example.com', 'Bucket.crossplane.io']) {
    assert.equal(ruleOf(kind), undefined, kind);
  }
});
