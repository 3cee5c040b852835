// Chooses which objects of the source type a ClusterImportPolicy imports, and under which names. If a template fails
// for an object, the error is reported and the object's PediaClusterLifecycle stays as it is. If two objects get the
// same name, the one that has it already is imported, else the older one.
import type { ApiObject, ApiObjects } from '../../kube/types.ts';
import { oldestFirst } from '../../cache/sources/objects/hub-object.ts';
import { nameFault } from '../hub/objects.ts';
import type { TemplateRenderer } from '../render/renderer.ts';
import { TemplateError, TemplateTooDear } from '../template/template.ts';
import type { PolicySpec } from './policy-spec.ts';

/**
 * What the ClusterImportPolicy's templates say about one source object: its name, an error, or that it is not imported.
 */
type Verdict = { readonly name: string } | { readonly fault: string; readonly isTooDear: boolean } | 'not selected';

const notTried = `not tried, because the templates of the policy took too much for other objects`;

/**
 * The remembered verdicts by source object. A changed object is a new JavaScript object and so has no verdict yet. A
 * changed ClusterImportPolicy begins with an empty map.
 */
export type Verdicts = WeakMap<ApiObject, Verdict>;

export interface Choice {
  /** The imported source objects by the names of their PediaClusterLifecycles. */
  readonly named: ReadonlyMap<string, ApiObject>;
  /**
   * `namespace/name` of source objects whose templates failed, so that nobody knows whether they are to be imported.
   */
  readonly undecided: ReadonlySet<string>;
  /** A message for each source object that should be imported and is not. */
  readonly faults: readonly string[];
}

/**
 * How many source objects may make the policy's templates exceed their limit of steps or time. After that many, the
 * other objects get an error and are not rendered until the policy is changed.
 */
const mostTooDear = 3;

/**
 * Chooses the source objects.
 * @param render renders a template of the policy
 * @param known remembered verdicts, which are not computed again; new verdicts are added
 * @param holderOf returns the `namespace/name` of the source object whose PediaClusterLifecycle has this name now;
 *   undefined if there is none
 */
export async function chooseSources(
  { selector, name }: Pick<PolicySpec, 'selector' | 'name'>,
  render: (template: string, data: unknown) => ReturnType<TemplateRenderer['render']>,
  sources: ApiObjects,
  known: Verdicts,
  holderOf: (name: string) => string | undefined = () => undefined,
): Promise<Choice> {
  const named = new Map<string, ApiObject>();
  const undecided = new Set<string>();
  const faults: string[] = [];
  let tooDear = 0;
  for (const [key, source] of oldestFirst(sources)) {
    let verdict = known.get(source);
    if (verdict === undefined) {
      const judge = (): Promise<Verdict> => verdictOn({ selector, name }, (template) => render(template, { source }));
      verdict = tooDear >= mostTooDear ? { fault: notTried, isTooDear: true } : await judge();
      known.set(source, verdict);
    }
    if (verdict === 'not selected') continue;
    if ('fault' in verdict) {
      if (verdict.isTooDear) tooDear += 1;
      undecided.add(key);
      faults.push(`${key}: ${verdict.fault}`);
      continue;
    }
    const first = named.get(verdict.name);
    if (first === undefined) named.set(verdict.name, source);
    else if (holderOf(verdict.name) === key) {
      named.set(verdict.name, source);
      faults.push(`${pathOf(first)}: the name "${verdict.name}" belongs to ${key}, which had it first`);
    } else faults.push(`${key}: the name "${verdict.name}" belongs to the older ${pathOf(first)}`);
  }
  for (const [name, source] of named) {
    // The object that has this name is undecided: its templates failed, so it may still want the name. Until that is
    // known, no other object gets the name.
    const holder = holderOf(name);
    if (holder === undefined || holder === pathOf(source) || !undecided.has(holder)) continue;
    named.delete(name);
    faults.push(`${pathOf(source)}: the name "${name}" belongs to ${holder}, whose templates fail`);
  }
  return { named, undecided, faults };
}

/** Names a source object in messages: `namespace/name`, or `name` if it is cluster-scoped. */
export function pathOf({ metadata: { namespace, name } }: ApiObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

async function verdictOn(
  { selector, name }: Pick<PolicySpec, 'selector' | 'name'>,
  render: (template: string) => Promise<string>,
): Promise<Verdict> {
  let doing = 'selectorTemplate';
  try {
    if (selector !== undefined && !isTrue(await render(selector))) return 'not selected';
    doing = 'nameTemplate';
    const found = await render(name);
    const fault = found === '' ? 'gives an empty name' : nameFault(found);
    return fault === undefined ? { name: found } : { fault: `nameTemplate ${fault}`, isTooDear: false };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { fault: `${doing}: ${error.message}`, isTooDear: error instanceof TemplateTooDear };
  }
}

/**
 * Whether the output of a selector or condition template means true. As in Clusterpedia, that is `true` in upper or
 * lower case, with or without blanks around it.
 */
export function isTrue(printed: string): boolean {
  return printed.trim().toLowerCase() === 'true';
}
