// Which objects of the source type a policy imports, and under which names. An object whose templates fail is told, and
// changes nothing of what it had before. Of two objects with one name the older has it.
import { setImmediate as turn } from 'node:timers/promises';
import type { HubObject, HubObjects } from '../../cache/hub/hub-types.ts';
import { oldestFirst } from '../../cache/sources/objects/hub-object.ts';
import { TemplateError } from '../template/template.ts';
import type { PolicySpec } from './policy-spec.ts';

/** What the templates say of one source. */
type Verdict = { readonly name: string } | { readonly fault: string } | 'not selected';

/** What is remembered of unchanged sources; one for each state of a policy. */
export type Verdicts = WeakMap<HubObject, Verdict>;

export interface Choice {
  /** Sources by the name of the lifecycle. */
  readonly named: ReadonlyMap<string, HubObject>;
  /** `namespace/name` of sources that could not be judged. */
  readonly unjudged: ReadonlySet<string>;
  /** One sentence for each source that is not imported and should be. */
  readonly faults: readonly string[];
}

/** So many sources are judged before requests are served again. */
const atOnce = 100;

/** @param known remembers and gives what was judged before */
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

/** `namespace/name` or `name`, for messages. */
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

/** As Clusterpedia reads what a selector or a condition printed. */
export function isTrue(printed: string): boolean {
  return printed.trim().toLowerCase() === 'true';
}
