// `npm run audit`: asks the registry for known vulnerabilities, and fails for high and critical ones of what a release
// ships. A mirror may not answer audits, which says nothing about the packages: with `--strict` that fails, too.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gravestOf, packagesOfConsole, root, type AuditReport, type LockedPackages } from './shipped.ts';

const { stdout, stderr } = spawnSync('npm', ['audit', '--json'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});
const report = readReport(stdout);
if (report === undefined) {
  process.stderr.write(`${stderr}this registry answers no audit: NOT CHECKED\n`);
  process.exitCode = process.argv.includes('--strict') ? 1 : 0;
} else {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: LockedPackages;
  };
  const found = gravestOf(report, packages, packagesOfConsole());
  process.stdout.write(found.map((line) => `${line}\n`).join('') || 'nothing high or critical in what is shipped\n');
  process.exitCode = found.length > 0 ? 1 : 0;
}

/** The report; undefined where the registry gave none. */
function readReport(text: string): AuditReport | undefined {
  try {
    const read = JSON.parse(text) as Partial<AuditReport>;
    return read.vulnerabilities === undefined ? undefined : { vulnerabilities: read.vulnerabilities };
  } catch {
    return undefined;
  }
}
