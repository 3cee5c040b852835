// Writes docs/reference/command-line.md and the definitions in the Helm chart. To be run after a change of commands,
// flags or CustomResourceDefinitions: node bin/write-reference.ts
import { mkdirSync, writeFileSync } from 'node:fs';
import { chartDefinitions } from './generate-crds.ts';
import { referencePage, referencePath } from './reference.ts';

const file = new URL(`../${referencePath}`, import.meta.url);
mkdirSync(new URL('.', file), { recursive: true });
writeFileSync(file, referencePage());
for (const [path, text] of Object.entries(chartDefinitions))
  writeFileSync(new URL(`../${path}`, import.meta.url), text);
