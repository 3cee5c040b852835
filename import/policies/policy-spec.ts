// A ClusterImportPolicy's spec with its templates read. The templates of references are left as text: they are the
// lifecycle's, which reads them.
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import type { WantedType } from '../hub/discovery.ts';
import { listAt, textAt, textsAt } from '../../controllers/objects.ts';
import { compileTemplate, TemplateError, type Template } from '../template/template.ts';

/** Parts of a policy that its lifecycles get as they are. */
export interface CopiedPolicy {
  readonly template: string;
  readonly creationCondition: string;
}

/** A reference as written, without versions. */
export interface WrittenReference {
  readonly key: string;
  readonly group: string;
  readonly resource: string;
  readonly namespaceTemplate?: string;
  readonly nameTemplate: string;
}

/** A policy whose templates can be run. */
export interface PolicySpec {
  readonly source: WantedType;
  /** Undefined: every source. */
  readonly selector: Template | undefined;
  readonly name: Template;
  readonly references: readonly (WrittenReference & { readonly versions: readonly string[] })[];
  readonly copied: CopiedPolicy;
}

/** A template of a policy cannot be read. `reason` is that of its condition. */
export class InvalidPolicy extends Error {
  override readonly name = 'InvalidPolicy';
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Clusterpedia's reason, in its spelling: tools look for it. */
const invalidPolicy = 'InvalaidPolicy';

/** @throws InvalidPolicy for the first template that cannot be read */
export function readPolicySpec(policy: HubObject): PolicySpec {
  const spec = policy['spec'];
  const name = compiled('FailedParseLifecycleName', 'nameTemplate', textAt(spec, 'nameTemplate'));
  const selector = textAt(spec, 'source', 'selectorTemplate');
  const selects =
    selector === '' ? undefined : compiled('FailedParseSourceSelector', 'source.selectorTemplate', selector);
  const copied = { template: textAt(spec, 'template'), creationCondition: textAt(spec, 'creationCondition') };
  for (const [field, text] of Object.entries(copied)) compiled(invalidPolicy, field, text);
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

/** The part of a reference that policies and lifecycles have alike. */
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

function compiled(reason: string, field: string, text: string): Template {
  try {
    return compileTemplate(text);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new InvalidPolicy(reason, `${field}: ${error.message}`);
  }
}
