// Real Helm on the chart: renders value sets and manages releases. A Helm built as a module believes in Kubernetes
// 1.20, so the version of the members is named when nothing is asked of a server.
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ensureBinaries } from '../controlplane/build.ts';
import { kubernetesVersion } from '../controlplane/modules.ts';
import { runCommand } from '../controlplane/processes.ts';
import type { CommandResult } from '../controlplane/fixture-types.ts';

/** Release and namespace of every golden. */
export const release = 'portcullis';
export const chartFolder = join(import.meta.dirname, '../../charts/portcullis');

/** A rendered or stored object, as far as tests look at it. */
export interface ChartObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** The value sets of test/chart/values with their goldens. */
export function valueSets(): readonly { readonly name: string; readonly values: string; readonly golden: string }[] {
  return globSync(join(import.meta.dirname, 'values', '*.yaml'))
    .toSorted()
    .map((values) => {
      const name = basename(values, '.yaml');
      return { name, values, golden: join(import.meta.dirname, 'goldens', `${name}.yaml`) };
    });
}

/** Runs Helm; any exit code is an answer. */
export async function helm(args: readonly string[], kubeconfig?: string): Promise<CommandResult> {
  const binaries = await ensureBinaries(['helm']);
  const env = {
    KUBECONFIG: kubeconfig ?? '/dev/null',
    HELM_CACHE_HOME: '/nonexistent',
    HELM_CONFIG_HOME: '/nonexistent',
    HELM_DATA_HOME: '/nonexistent',
  };
  return await runCommand(binaries['helm']!, args, { env });
}

/** `helm template` of the chart; any exit code is an answer. */
export async function template(...args: readonly string[]): Promise<CommandResult> {
  return await helm([
    'template',
    release,
    chartFolder,
    '--namespace',
    release,
    '--kube-version',
    kubernetesVersion,
    ...args,
  ]);
}

/** The objects of a rendered text. */
export function objectsOf(text: string): readonly ChartObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const object = document.toJS() as ChartObject | null;
    return object === null ? [] : [object];
  });
}

/** Arguments of the gateway's container in a rendered text. */
export function argumentsOf(text: string): readonly string[] {
  const deployment = objectsOf(text).find(({ kind }) => kind === 'Deployment');
  const spec = deployment?.['spec'] as { template: { spec: { containers: { args: string[] }[] } } };
  return spec.template.spec.containers[0]!.args;
}
