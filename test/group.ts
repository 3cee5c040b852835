// `node test/group.ts FILE…`: several test files in one process, one after the other, for those that would each load a
// whole gateway for a second of work. Every file is a suite, so that its hooks are its own; a file is loaded with
// require, since what `import` runs no longer belongs to the suite, and so must do without a top-level await.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { suite } from 'node:test';

const load = createRequire(import.meta.url);
for (const file of process.argv.slice(2)) void suite(file, () => void load(resolve(file)));
