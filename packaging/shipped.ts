// What a release ships: the packages that run in production, and those whose code is bundled into the console. npm
// knows the latter only as tools of development, so an audit or SBOM that leaves those out would leave them out, too.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Root of the checkout. */
export const root = join(import.meta.dirname, '..');

/** The packages in the console as `name@version`, from the list of licences that it ships; builds it where needed. */
export function packagesOfConsole(): ReadonlySet<string> {
  execFileSync(process.execPath, [join(root, 'console/build.ts')], { stdio: ['ignore', 'ignore', 'inherit'] });
  return packagesOfLicences(readFileSync(join(root, 'console/assets/licences.txt'), 'utf8'));
}

/**
 * The packages that a list of licences names, as `name@version`.
 * @throws Error when it names none
 */
export function packagesOfLicences(text: string): ReadonlySet<string> {
  const entries = text.split('\n----\n\n').flatMap((entry) => {
    const [, name, version] = /^(\S+) (\S+) \(/.exec(entry) ?? [];
    return name === undefined ? [] : [`${name}@${version}`];
  });
  if (entries.length === 0) throw new Error('the list of licences names no package');
  return new Set(entries);
}

/** An SBOM of CycloneDX 1.5 as `npm sbom` prints it, as far as it is read here. */
export interface Sbom {
  readonly components: readonly {
    readonly 'bom-ref': string;
    readonly properties?: readonly { readonly name: string; readonly value: string }[];
    readonly [field: string]: unknown;
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
  readonly [field: string]: unknown;
}

const development = 'cdx:npm:package:development';

/**
 * An SBOM of all packages without those of development that are not in the console.
 * @throws Error when a package of the console is missing
 */
export function shippedOnly(sbom: Sbom, ofConsole: ReadonlySet<string>): Sbom {
  const missing = [...ofConsole].filter((each) => !sbom.components.some((component) => component['bom-ref'] === each));
  if (missing.length > 0) throw new Error(`not in the lock file: ${missing.join(', ')}`);
  const components = sbom.components
    .filter((component) => !isOfDevelopment(component) || ofConsole.has(component['bom-ref']))
    .map((component) => (isOfDevelopment(component) ? inConsole(component) : component));
  const refs = new Set([sbom.metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])]);
  const dependencies = sbom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }));
  return { ...sbom, components, dependencies };
}

type Component = Sbom['components'][number];

function isOfDevelopment({ properties = [] }: Component): boolean {
  return properties.some(({ name, value }) => name === development && value === 'true');
}

/** A component whose code is shipped is required, and not one of development. */
function inConsole(component: Component): Component {
  const properties = (component.properties ?? []).filter(({ name }) => name !== development);
  return { ...component, scope: 'required', properties };
}

/** What `npm audit --json` prints, as far as it is read here. */
export interface AuditReport {
  readonly vulnerabilities: Readonly<
    Record<string, { readonly severity: string; readonly nodes: readonly string[]; readonly range: string }>
  >;
}

/** The lock file's packages by their path below the root. */
export type LockedPackages = Readonly<Record<string, { readonly version?: string; readonly dev?: boolean }>>;

/** High and critical vulnerabilities of what is shipped, a line each. */
export function gravestOf(
  { vulnerabilities }: AuditReport,
  locked: LockedPackages,
  ofConsole: ReadonlySet<string>,
): readonly string[] {
  const isShipped = (path: string): boolean => {
    const entry = locked[path];
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    // A path that the lock file does not have is no reason to be silent.
    return entry?.dev !== true || ofConsole.has(`${name}@${entry.version}`);
  };
  return Object.entries(vulnerabilities)
    .filter(([, { severity, nodes }]) => ['high', 'critical'].includes(severity) && nodes.some(isShipped))
    .map(([name, { severity, range }]) => `${severity}: ${name} ${range}`);
}
