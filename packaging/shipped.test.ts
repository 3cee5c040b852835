import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gravestOf, packagesOfLicences, shippedOnly, type Sbom } from './shipped.ts';

const ofDevelopment = [{ name: 'cdx:npm:package:development', value: 'true' }];
const sbom: Sbom = {
  bomFormat: 'CycloneDX',
  metadata: { component: { 'bom-ref': 'portcullis@1.0.0' } },
  components: [
    { 'bom-ref': 'express@5.0.0', properties: [] },
    { 'bom-ref': 'preact@11.0.0', scope: 'optional', properties: ofDevelopment },
    { 'bom-ref': 'oxlint@1.0.0', scope: 'optional', properties: ofDevelopment },
  ],
  dependencies: [
    { ref: 'portcullis@1.0.0', dependsOn: ['express@5.0.0', 'preact@11.0.0', 'oxlint@1.0.0'] },
    { ref: 'oxlint@1.0.0', dependsOn: ['express@5.0.0'] },
    { ref: 'preact@11.0.0', dependsOn: [] },
  ],
};

test('the SBOM has what runs in production and what is bundled into the console, and nothing else', () => {
  const shipped = shippedOnly(sbom, new Set(['preact@11.0.0']));
  assert.deepEqual(shipped.components, [
    { 'bom-ref': 'express@5.0.0', properties: [] },
    { 'bom-ref': 'preact@11.0.0', scope: 'required', properties: [] },
  ]);
  assert.deepEqual(shipped.dependencies, [
    { ref: 'portcullis@1.0.0', dependsOn: ['express@5.0.0', 'preact@11.0.0'] },
    { ref: 'preact@11.0.0', dependsOn: [] },
  ]);
  assert.throws(() => shippedOnly(sbom, new Set(['preact@10.0.0'])), /not in the lock file: preact@10\.0\.0/);
});

test('packages of the console are read from its licences, and a list without any is refused', () => {
  const text = 'preact 11.0.0 (MIT)\n\nCopyright\n\n----\n\n@lezer/highlight 1.2.5 (MIT)\n\nCopyright\n';
  assert.deepEqual([...packagesOfLicences(text)], ['preact@11.0.0', '@lezer/highlight@1.2.5']);
  assert.throws(() => packagesOfLicences(''), /names no package/);
});

test('an audit fails for the console’s packages as for those of production, and not for tools', () => {
  const of = (severity: string, ...nodes: readonly string[]) => ({ severity, nodes, range: '<2' });
  const locked = {
    'node_modules/express': { version: '5.0.0' },
    'node_modules/preact': { version: '11.0.0', dev: true },
    'node_modules/a/node_modules/preact': { version: '10.0.0', dev: true },
    'node_modules/oxlint': { version: '1.0.0', dev: true },
  };
  const found = gravestOf(
    {
      vulnerabilities: {
        express: of('critical', 'node_modules/express'),
        preact: of('high', 'node_modules/preact'),
        old: of('high', 'node_modules/a/node_modules/preact'),
        oxlint: of('critical', 'node_modules/oxlint'),
        yaml: of('moderate', 'node_modules/express'),
        unknown: of('high', 'node_modules/nowhere'),
      },
    },
    locked,
    new Set(['preact@11.0.0']),
  );
  assert.deepEqual(found, ['critical: express <2', 'high: preact <2', 'high: unknown <2']);
});
