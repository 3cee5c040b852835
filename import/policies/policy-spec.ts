// Reads a ClusterImportPolicy's spec and parses its templates. The templates of references stay text, since they are
// copied to the PediaClusterLifecycles, whose controller parses them.
import { fieldOf, listAt, textAt, textsAt } from '../../lib/objects/json-object.ts';
import type { ApiObject } from '../../kube/types.ts';
import type { WantedType } from '../hub/discovery.ts';
import type { TemplateRenderer } from '../render/renderer.ts';
import { TemplateError } from '../template/template.ts';

/** The fields of a ClusterImportPolicy that are copied unchanged into its lifecycles. */
export interface CopiedPolicy {
  readonly template: string;
  readonly creationCondition: string;
}

/** A reference as the ClusterImportPolicy has it, without `versions`. */
export interface WrittenReference {
  readonly key: string;
  readonly group: string;
  readonly resource: string;
  readonly namespaceTemplate?: string;
  readonly nameTemplate: string;
}

/** The spec of a ClusterImportPolicy whose templates can be parsed. */
export interface PolicySpec {
  readonly source: WantedType;
  /** Template that selects source objects; undefined selects all. */
  readonly selector: string | undefined;
  readonly name: string;
  readonly references: readonly (WrittenReference & { readonly versions: readonly string[] })[];
  readonly copied: CopiedPolicy;
}

/**
 * Thrown for a template of a ClusterImportPolicy that cannot be parsed. `reason` is the reason of the policy's
 * condition Validated.
 */
export class InvalidPolicy extends Error {
  override readonly name = 'InvalidPolicy';
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Clusterpedia's reason, with Clusterpedia's spelling mistake: tools look for exactly this text. */
const invalidPolicy = 'InvalaidPolicy';

/** Reads the spec of a policy. @throws InvalidPolicy (rejects) for the first template that cannot be parsed */
export async function readPolicySpec(
  policy: ApiObject,
  { check }: Pick<TemplateRenderer, 'check'>,
): Promise<PolicySpec> {
  const spec = policy['spec'];
  const parsable = async (reason: string, field: string, text: string): Promise<string> => {
    try {
      await check(policy.metadata.name, text);
      return text;
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw new InvalidPolicy(reason, `${field}: ${error.message}`);
    }
  };
  const name = await parsable('FailedParseLifecycleName', 'nameTemplate', textAt(spec, 'nameTemplate'));
  const selector = textAt(spec, 'source', 'selectorTemplate');
  const selects =
    selector === '' ? undefined : await parsable('FailedParseSourceSelector', 'source.selectorTemplate', selector);
  const copied = { template: textAt(spec, 'template'), creationCondition: textAt(spec, 'creationCondition') };
  for (const [field, text] of Object.entries(copied)) await parsable(invalidPolicy, field, text);
  return {
    source: wantedAt(fieldOf(spec, 'source')),
    selector: selects,
    name,
    references: listAt(spec, 'references').map((reference) => ({
      ...writtenReference(reference),
      versions: textsAt(reference, 'versions'),
    })),
    copied,
  };
}

/** Reads the fields of a reference that ClusterImportPolicies and PediaClusterLifecycles have in common. */
export function writtenReference(reference: unknown): WrittenReference {
  const namespaceTemplate = textAt(reference, 'namespaceTemplate');
  return {
    key: textAt(reference, 'key'),
    group: textAt(reference, 'group'),
    resource: textAt(reference, 'resource'),
    ...(namespaceTemplate === '' ? {} : { namespaceTemplate }),
    nameTemplate: textAt(reference, 'nameTemplate'),
  };
}

function wantedAt(source: unknown): WantedType {
  return {
    group: textAt(source, 'group'),
    resource: textAt(source, 'resource'),
    versions: textsAt(source, 'versions'),
  };
}
