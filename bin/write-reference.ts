// Writes all generated files. To be run after a change of commands, settings or CustomResourceDefinitions:
// node bin/write-reference.ts
import { readFileSync, writeFileSync } from 'node:fs';
import { generatedFiles } from './reference.ts';

const at = (path: string): URL => new URL(`../${path}`, import.meta.url);
for (const [path, text] of Object.entries(generatedFiles((one) => readFileSync(at(one), 'utf8'))))
  writeFileSync(at(path), text);
