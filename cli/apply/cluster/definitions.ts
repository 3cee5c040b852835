// CustomResourceDefinitions among the manifests: finds the kinds that they define, and waits until a cluster serves
// these kinds, since their objects are applied afterwards.
import { isJsonObject } from '../../../lib/objects/json-object.ts';
import { discoverKinds } from './kinds.ts';
import type { Kinds } from './kinds.ts';
import { phaseOf } from '../manifests/manifest.ts';
import type { Manifest } from '../manifests/manifest.ts';
import { Unreachable } from './member-client.ts';
import type { MemberClient } from './member-client.ts';
import { waitReady } from './wait-ready.ts';

/**
 * The longest wait, in milliseconds, until a CustomResourceDefinition is established and its kinds are served. When it
 * is over, applying to this cluster has failed.
 */
const establishMs = 30_000;
const pauseMs = 250;

const remembered = new WeakMap<readonly Manifest[], ReadonlySet<string>>();

/** The kinds that CustomResourceDefinitions among the manifests define, each as `example.com/v1 Widget`. */
export function definedKinds(manifests: readonly Manifest[]): ReadonlySet<string> {
  const found = remembered.get(manifests) ?? new Set(manifests.filter((each) => phaseOf(each) === 1).flatMap(kindsOf));
  remembered.set(manifests, found);
  return found;
}

function kindsOf({ body }: Manifest): readonly string[] {
  const { spec } = JSON.parse(body) as { readonly spec?: unknown };
  const { group, names, versions } = isJsonObject(spec) ? spec : {};
  const kind = isJsonObject(names) ? names['kind'] : undefined;
  return (Array.isArray(versions) ? versions : [])
    .filter((version) => isJsonObject(version) && version['served'] !== false)
    .map((version) => `${String(group)}/${String(version.name)} ${String(kind)}`);
}

/**
 * Waits until a cluster serves the kinds of these CustomResourceDefinitions; resolves with all kinds of the cluster.
 * @throws Unreachable (rejects) when a kind is still not served after 30 seconds
 */
export async function establish(
  { client, job }: { readonly client: MemberClient; readonly job: { readonly stopping: AbortSignal } },
  definitions: readonly Manifest[],
): Promise<Kinds> {
  const signal = AbortSignal.any([job.stopping, AbortSignal.timeout(establishMs)]);
  const wanted = definedKinds(definitions);
  for (;;) {
    const kinds = await discoverKinds(client);
    const missing = [...wanted].find((each) => {
      const [apiVersion, kind] = each.split(' ');
      return kinds.find(apiVersion!, kind!) === undefined;
    });
    if (missing === undefined) return kinds;
    if (signal.aborted) throw new Unreachable(`the cluster does not serve ${missing}, whose CRD was applied`);
    await awaitDefinitions(client, kinds, definitions, signal);
    await new Promise((resolve) => void setTimeout(resolve, pauseMs));
  }
}

async function awaitDefinitions(
  client: MemberClient,
  kinds: Kinds,
  definitions: readonly Manifest[],
  signal: AbortSignal,
): Promise<void> {
  for (const { apiVersion, kind, name } of definitions) {
    const served = kinds.find(apiVersion, kind);
    if (served === undefined) continue;
    const reason = await waitReady(client, served, { namespace: '', name }, signal, () => {});
    if (reason !== undefined) throw new Unreachable(`customresourcedefinition ${name}: ${reason}`);
  }
}
