// When a row may be seen, as questions that somebody else answers: the member, or the gateway's authorizer. Nothing
// here may know of RBAC or of grants, or the test would share the mistakes of what it tests.
import type { RowVerb } from '../../../rights/rbac/rbac-view.ts';
import type { WorldType } from './index-rights-world.ts';

export const rowVerbs: readonly RowVerb[] = ['list', 'get', 'watch'];

/** The rule of visibility, in questions to whoever answers them. */
export async function visibleBy(
  may: (verb: string, namespace: string, name: string) => Promise<boolean>,
  verb: RowVerb,
  type: WorldType,
  namespace: string,
  name: string,
): Promise<boolean> {
  if (verb === 'get') return await may('get', type.resource === 'namespaces' ? name : namespace, name);
  const listed = async (asked: string): Promise<boolean> =>
    (await may(asked, '', '')) ||
    (namespace !== '' && (await may(asked, namespace, ''))) ||
    (namespace !== '' && (await may(asked, namespace, name))) ||
    (await may(asked, '', name));
  return (await listed('list')) && (verb === 'list' || (await listed('watch')));
}

export function remembering(ask: (verb: string, namespace: string, name: string) => Promise<boolean>): typeof ask {
  const answers = new Map<string, Promise<boolean>>();
  return (...asked) => {
    const key = JSON.stringify(asked);
    let answer = answers.get(key);
    if (answer === undefined) answers.set(key, (answer = ask(...asked)));
    return answer;
  };
}
