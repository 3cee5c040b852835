// `npm run sbom`: prints the SBOM (CycloneDX) of what a release ships, from the lock file.
import { execFileSync } from 'node:child_process';
import { packagesOfConsole, root, shippedOnly, type Sbom } from './shipped.ts';

const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
const printed = execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
process.stdout.write(
  `${JSON.stringify(shippedOnly(JSON.parse(printed) as Sbom, packagesOfConsole()), undefined, 2)}\n`,
);
