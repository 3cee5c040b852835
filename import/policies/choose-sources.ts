// Chooses which objects of the source type a policy imports, and under which names. If the templates of an object fail,
// the fault is reported and its lifecycle stays as it is. If two objects have one name, the older object gets it.
import { setImmediate as turn } from 'node:timers/promises';
import type { HubObject, HubObjects } from '../../cache/hub/hub-types.ts';
import { oldestFirst } from '../../cache/sources/objects/hub-object.ts';
import { TemplateError } from '../template/template.ts';
import type { PolicySpec } from './policy-spec.ts';

/** What the policy's templates say about one source object. */
type Verdict = { readonly name: string } | { readonly fault: string } | 'not selected';

/** Remembers verdicts of unchanged source objects. A changed policy begins with an empty map. */
export type Verdicts = WeakMap<HubObject, Verdict>;

export interface Choice {
  /** The imported source objects by the names of their lifecycles. */
  readonly named: ReadonlyMap<string, HubObject>;
  /** `namespace/name` of source objects whose templates failed. */
  readonly unjudged: ReadonlySet<string>;
  /** A sentence for each source object that should be imported and is not. */
  readonly faults: readonly string[];
}

/** How many source objects are judged before the event loop may handle other work, such as requests. */
const atOnce = 100;

/** Chooses the source objects. @param known verdicts that were remembered; new ones are added */
export async function chooseSources(
  { selector, name }: Pick<PolicySpec, 'selector' | 'name'>,
  sources: HubObjects,
  known: Verdicts,
): Promise<Choice> {
  const named = new Map<string, HubObject>();
  const unjudged = new Set<string>();
  const faults: string[] = [];
  let judged = 0;
  for (const [key, source] of oldestFirst(sources)) {
    let verdict = known.get(source);
    if (verdict === undefined) {
      verdict = verdictOn(source, selector, name);
      known.set(source, verdict);
      judged += 1;
      if (judged % atOnce === 0) await turn();
    }
    if (verdict === 'not selected') continue;
    if ('fault' in verdict) {
      unjudged.add(key);
      faults.push(`${key}: ${verdict.fault}`);
      continue;
    }
    const first = named.get(verdict.name);
    if (first === undefined) named.set(verdict.name, source);
    else faults.push(`${key}: the name "${verdict.name}" belongs to the older ${pathOf(first)}`);
  }
  return { named, unjudged, faults };
}

/** Names an object in messages: `namespace/name`, or `name` if it is cluster-scoped. */
export function pathOf({ metadata: { namespace, name } }: HubObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function verdictOn(source: HubObject, selector: PolicySpec['selector'], name: PolicySpec['name']): Verdict {
  const data = { source };
  let doing = 'selectorTemplate';
  try {
    if (selector !== undefined && !isTrue(selector.render(data))) return 'not selected';
    doing = 'nameTemplate';
    const found = name.render(data);
    return found === '' ? { fault: 'nameTemplate gives an empty name' } : { name: found };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { fault: `${doing}: ${error.message}` };
  }
}

/** Whether the output of a selector or condition template counts as true, by Clusterpedia's rule. */
export function isTrue(printed: string): boolean {
  return printed.trim().toLowerCase() === 'true';
}
