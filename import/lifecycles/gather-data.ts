// The objects that a lifecycle's templates see: its source and its references, each of which may be named by those
// before it.
import type { HubObject, WatchedResource } from '../../cache/hub/hub-types.ts';
import type { FollowedTypes } from '../../controllers/hub/followed-types.ts';
import { listAt, textAt } from '../../controllers/objects.ts';
import type { Dependency } from '../policies/lifecycle-object.ts';
import { writtenReference } from '../policies/policy-spec.ts';
import { compileTemplate, TemplateError } from '../template/template.ts';

/** What is given to the templates. */
export interface TemplateData {
  readonly source: HubObject;
  readonly references: Readonly<Record<string, HubObject>>;
}

type TypesOfPolicies = Pick<FollowedTypes, 'objects' | 'typesOf'>;

export interface Gathered {
  /** What the lifecycle depends on, found or not, its source first. */
  readonly dependencies: readonly Dependency[];
  /** Undefined where the source is not there, and so no reference was looked for. */
  readonly references: readonly Dependency[] | undefined;
  /** The data, or why there is none. */
  readonly result: { readonly data: TemplateData } | { readonly reason: string; readonly message: string };
}

/** @param policy whose types are read */
export function gatherData(lifecycle: HubObject, types: TypesOfPolicies, policy: string): Gathered {
  const at = dependencyAt(lifecycle);
  // In the same order: the source, then the references.
  const followed = types.typesOf(policy);
  const source = objectAt(types, at, followed[0]);
  if (source === undefined) {
    const result = { reason: 'SourceResourceNotFound', message: `${labelOf(at)} is not there` };
    return { dependencies: [at], references: undefined, result };
  }
  const found: Record<string, HubObject> = {};
  const references: Dependency[] = [];
  const data = { source, references: found };
  for (const [index, each] of listAt(lifecycle, 'spec', 'references').entries()) {
    const label = `reference "${textAt(each, 'key')}"`;
    let reference: Dependency;
    try {
      reference = referenceAt(each, data);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      return ended('FailedReferenceResourceParse', `${label}: ${error.message}`);
    }
    if (reference.name === '') return ended('FailedReferenceResourceParse', `${label}: the name is empty`);
    references.push(reference);
    const object = objectAt(types, reference, followed[index + 1]);
    if (object === undefined) return ended('ReferenceResourceNotFound', `${label}: ${labelOf(reference)} is not there`);
    found[textAt(each, 'key')] = object;
  }
  return { dependencies: [at, ...references], references, result: { data } };

  function ended(reason: string, message: string): Gathered {
    return { dependencies: [at, ...references], references, result: { reason, message } };
  }
}

/** The source of a lifecycle. */
export function dependencyAt(lifecycle: HubObject): Dependency {
  const at = (field: string): string => textAt(lifecycle, 'spec', 'source', field);
  const [group, version, resource] = [at('group'), at('version'), at('resource')];
  return { group, version, resource, namespace: at('namespace'), name: at('name') };
}

/** @throws TemplateError */
function referenceAt(written: unknown, data: TemplateData): Dependency {
  const { group, resource, namespaceTemplate = '', nameTemplate } = writtenReference(written);
  const render = (field: string, text: string): string => {
    try {
      return compileTemplate(text).render(data);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw new TemplateError(`${field}: ${error.message}`, { cause: error });
    }
  };
  const namespace = render('namespaceTemplate', namespaceTemplate);
  return {
    group,
    version: textAt(written, 'version'),
    resource,
    namespace,
    name: render('nameTemplate', nameTemplate),
  };
}

/** @param followed the type with the selectors that the policy has for it; another one while the policy has changed */
function objectAt(
  types: TypesOfPolicies,
  { namespace, name, group, version, resource }: Dependency,
  followed: WatchedResource | undefined,
): HubObject | undefined {
  const type = { group, version, resource };
  const isSame = followed?.group === group && followed.version === version && followed.resource === resource;
  return types.objects(isSame ? followed : type)?.get(namespace === '' ? name : `${namespace}/${name}`);
}

/** `secrets ns/name`, for messages. */
function labelOf({ group, resource, namespace, name }: Dependency): string {
  const type = group === '' ? resource : `${resource}.${group}`;
  return `${type} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}
