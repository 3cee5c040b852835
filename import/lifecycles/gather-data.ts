// Finds the objects that the templates of a PediaClusterLifecycle can use: its source and its references. The name of a
// reference is a template, which can use the source and the references before it.
import { listAt, textAt } from '../../lib/objects/json-object.ts';
import type { ApiObject, WatchedResource } from '../../kube/types.ts';
import type { FollowedTypes } from '../../kube/reflector/followed-types.ts';
import { nameFault } from '../hub/objects.ts';
import type { Dependency } from '../policies/lifecycle-object.ts';
import { writtenReference } from '../policies/policy-spec.ts';
import type { TemplateRenderer } from '../render/renderer.ts';
import { TemplateError } from '../template/template.ts';

/** The data that templates are rendered with. */
export interface TemplateData {
  readonly source: ApiObject;
  readonly references: Readonly<Record<string, ApiObject>>;
}

type TypesOfPolicies = Pick<FollowedTypes, 'objects' | 'typesOf'>;

/** What is needed to find the objects that a template uses, and to render their names. */
interface Finding {
  readonly types: TypesOfPolicies;
  readonly templates: Pick<TemplateRenderer, 'render'>;
}

export interface Gathered {
  /** All objects that the PediaClusterLifecycle depends on, whether they exist or not, the source first. */
  readonly dependencies: readonly Dependency[];
  /**
   * The references up to the first one whose name cannot be rendered or whose object does not exist; undefined when the
   * source does not exist.
   */
  readonly references: readonly Dependency[] | undefined;
  /**
   * The data for the templates, or, when an object is missing or a name cannot be rendered, reason and message of the
   * PediaClusterLifecycle's condition.
   */
  readonly result: { readonly data: TemplateData } | { readonly reason: string; readonly message: string };
}

/**
 * Finds the objects of a PediaClusterLifecycle. @param policy name of the ClusterImportPolicy for which the types of
 * these objects are watched
 */
export async function gatherData(
  lifecycle: ApiObject,
  { types, templates }: Finding,
  policy: string,
): Promise<Gathered> {
  const at = dependencyAt(lifecycle);
  // The types watched for a ClusterImportPolicy are that of its source, and then those of its references in the
  // policy's order.
  const followed = types.typesOf(policy);
  const source = objectAt(types, at, followed[0]);
  if (source === undefined) {
    const result = { reason: 'SourceResourceNotFound', message: `${labelOf(at)} is not there` };
    return { dependencies: [at], references: undefined, result };
  }
  const found: Record<string, ApiObject> = {};
  const references: Dependency[] = [];
  const data = { source, references: found };
  for (const [index, each] of listAt(lifecycle, 'spec', 'references').entries()) {
    const label = `reference "${textAt(each, 'key')}"`;
    let reference: Dependency;
    try {
      reference = await referenceAt(each, (template) => templates.render(policy, template, data));
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

/** Returns where the source object of a PediaClusterLifecycle is, as `spec.source` says. */
export function dependencyAt(lifecycle: ApiObject): Dependency {
  const at = (field: string): string => textAt(lifecycle, 'spec', 'source', field);
  const [group, version, resource] = [at('group'), at('version'), at('resource')];
  return { group, version, resource, namespace: at('namespace'), name: at('name') };
}

/** Renders namespace and name of a reference. @throws TemplateError, also when they have not the form of a name */
async function referenceAt(written: unknown, rendered: (template: string) => Promise<string>): Promise<Dependency> {
  const { group, resource, namespaceTemplate = '', nameTemplate } = writtenReference(written);
  const render = async (field: string, text: string): Promise<string> => {
    try {
      const printed = await rendered(text);
      const fault = printed === '' ? undefined : nameFault(printed);
      if (fault !== undefined) throw new TemplateError(fault);
      return printed;
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw new TemplateError(`${field}: ${error.message}`, { cause: error });
    }
  };
  const namespace = await render('namespaceTemplate', namespaceTemplate);
  return {
    group,
    version: textAt(written, 'version'),
    resource,
    namespace,
    name: await render('nameTemplate', nameTemplate),
  };
}

/**
 * Returns an object from the watched objects in memory; undefined when it does not exist or its type is not watched.
 * @param followed the type that is watched for the ClusterImportPolicy, with selectors. While a change of the policy is
 * being put into effect, this is not yet the object's type
 */
function objectAt(
  types: TypesOfPolicies,
  { namespace, name, group, version, resource }: Dependency,
  followed: WatchedResource | undefined,
): ApiObject | undefined {
  const type = { group, version, resource };
  const isSame = followed?.group === group && followed.version === version && followed.resource === resource;
  return types.objects(isSame ? followed : type)?.get(namespace === '' ? name : `${namespace}/${name}`);
}

/** Names an object in messages, such as `secrets ns/name`. */
function labelOf({ group, resource, namespace, name }: Dependency): string {
  const type = group === '' ? resource : `${resource}.${group}`;
  return `${type} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}
