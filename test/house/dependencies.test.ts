// What is installed: production needs only what is in dependencies, and every package has a hash and runs no script.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './pages.ts';
import { productionFiles, productionRooms, textOf } from './sources.ts';

test('what runs in production imports only what is in dependencies', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  assert.ok(productionFiles.length > 1_000);
  const missing = productionFiles.flatMap((file) => {
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

test('every room of production is built into a release, also files that only a thread loads', () => {
  const { include } = JSON.parse(textOf('tsconfig.build.json')) as { readonly include: readonly string[] };
  assert.deepEqual(include.toSorted(), productionRooms);
});

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
}

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Readonly<Record<string, LockedPackage>>;
};
const locked = Object.entries(packages).filter(([path]) => path !== '');

test('every package of the lock file has a hash, but for the lint and format tools of platforms nobody here has', () => {
  assert.ok(locked.length > 200);
  const without = locked.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''));
  const others = without.filter(
    ([path, { dev, optional, cpu, os }]) =>
      !(dev === true && optional === true && /^node_modules\/@(?:oxlint|oxfmt)\/binding-[-a-z0-9]+$/.test(path)) ||
      (String(os) === 'linux' && ['x64', 'arm64'].includes(String(cpu)) && !path.endsWith('-musl')),
  );
  assert.deepEqual(
    others.map(([path]) => path),
    [],
  );
});

test('Node itself is in the lock file, one version for each platform, and npm runs no script of any package', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    optionalDependencies: Readonly<Record<string, string>>;
  };
  const version = readFileSync(join(root, '.nvmrc'), 'utf8').trim();
  const platforms = Object.keys(optionalDependencies).map((name) => {
    const { os, cpu, ...node } = packages[`node_modules/${name}`]!;
    assert.deepEqual([optionalDependencies[name], node.version, node.optional], [version, version, true]);
    return `${String(os)} ${String(cpu)}`;
  });
  assert.deepEqual(platforms.toSorted(), ['darwin arm64', 'darwin x64', 'linux arm64', 'linux x64']);
  assert.deepEqual(
    locked.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path),
    [],
  );
});
