import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');

test('B9: what runs in production imports only what is in dependencies', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const files = globSync('{auth,bin,cache,cli,gateway,routing,search,sim}/**/*.{ts,mjs}', { cwd: root }).filter(
    (file) => !/\.(?:test|fixture)\.ts$|(?:^|\/)test-[^/]*\.ts$|node_modules/.test(file),
  );
  assert.ok(files.length > 100);
  const missing = files.flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8');
    const imports = source.matchAll(
      /(?:^|\n)(?:import|export)\b(?! type\b)[^'";]*?\bfrom\s*['"]([^.'"][^'"]*)['"]|(?:^|\n)import\s*['"]([^.'"][^'"]*)['"]|\bimport\(\s*['"]([^.'"][^'"]*)['"]/g,
    );
    return [...imports]
      .map((match) => (match[1] ?? match[2] ?? match[3])!)
      .filter((name) => !name.startsWith('node:') && !builtinModules.includes(name))
      .map((name) =>
        name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/'),
      )
      .filter((name) => dependencies[name] === undefined)
      .map((name) => `${file} imports ${name}`);
  });
  assert.deepEqual(missing, []);
});
