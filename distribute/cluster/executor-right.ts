// Decides whether a ManifestWork may be executed as its executor: the hub is asked whether the user who changed the
// work last may `execute-as` it. If it is not proven which user that is, the hub cannot be asked, and the work is not
// executed.
import type { ApiObject } from '../../kube/types.ts';
import type { Work } from '../work/work.ts';
import type { User } from '../../model/user.ts';
import type { Finding } from '../../kube/objects/conditions.ts';
import type { Executor } from '../member/executor-identity.ts';
import { acceptance, acceptedBefore, authorOf, type Authors } from '../stamp/authors.ts';
import { ownPrefix } from '../work/manifest-work.ts';

export interface RightParts {
  /**
   * Tells who is proven to have changed a work last. Undefined when the operator accepts works without that proof: the
   * annotation with the user's name is then trusted, and a work without the annotation is executed without asking the
   * hub.
   */
  readonly authors: Pick<Authors, 'of'> | undefined;
  /**
   * Asks the hub for the verb `execute-as` on ManifestWorks of the namespace.
   * @param name of the executor as the right names it: its user name, or `gateway`
   */
  readonly mayExecuteAs: (user: User, namespace: string, name: string) => Promise<boolean>;
}

/**
 * The decision for one ManifestWork. `refused`: why it is not executed, undefined when it is. `conditions`: the
 * conditions to write into its status.
 */
export interface Right {
  readonly refused: string | undefined;
  readonly conditions: readonly Finding[];
}

const unasked: Right = { refused: undefined, conditions: [] };

/**
 * Decides whether a ManifestWork may be executed as `executor`: whether the user who changed the work last may
 * `execute-as` it. The work may name another executor, or none.
 */
export async function rightOf(
  parts: RightParts,
  { object: work, namespace }: Work,
  executor: Executor,
): Promise<Right> {
  const author = parts.authors === undefined ? authorOf(work) : parts.authors.of(work);
  if (author === undefined) return unasked;
  if ('fault' in author) return unproven(work, author.fault);
  const conditions = parts.authors === undefined ? [] : [acceptance(work)];
  if (await parts.mayExecuteAs(author.user, namespace, executor.key)) return { refused: undefined, conditions };
  const { account } = executor;
  const name = account === 'gateway' ? account : `${account.namespace}/${account.name}`;
  return {
    refused: `user ${author.modifier.name} cannot manipulate the Manifestwork with executor ${name} in namespace ${namespace}`,
    conditions,
  };
}

function unproven(work: ApiObject, fault: string): Right {
  const message = `it is not proven who changed the work last: ${fault} (docs/how-to/distribute.md#as-whom)`;
  const condition = { type: `${ownPrefix}Executed`, status: 'False', reason: 'ModifierUnproven', message } as const;
  return { refused: message, conditions: [condition, ...acceptedBefore(work)] };
}
