// Creates RBAC objects in a member cluster with an administrator's kubeconfig context, one by one, by server-side apply
// (KEP-555). Easy to get wrong: an API server refuses to let somebody grant more rights than they have. So any of the
// objects may be refused, and the message says which ones were applied before.
import { statusMessage } from '../connection/explain.ts';
import { Failure } from '../terminal/failure.ts';
import { send } from '../connection/http.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import { patchCall } from '../../kube/objects/object-calls.ts';
import type { ApiAnswer } from '../../kube/types.ts';
import type { AccessObject } from './member-access.ts';

const plurals = { ClusterRole: 'clusterroles', ClusterRoleBinding: 'clusterrolebindings' } as const;
const fieldManager = 'portcullis-generate';

/**
 * Applies RBAC objects to the cluster, in order. Applying them again changes nothing.
 * @param onApplied called with the name of each object after it was applied
 * @throws Failure (rejects) when the cluster cannot be reached or refuses an object
 */
export async function applyAccess(
  connection: Connection,
  objects: readonly AccessObject[],
  onApplied: (name: string) => void,
): Promise<void> {
  const done: string[] = [];
  for (const object of objects) {
    const { kind, metadata, apiVersion } = object;
    const name = `${kind} ${metadata.name}`;
    // `force` overwrites fields that somebody else has changed, because the person who runs the command asks for
    // exactly these objects.
    const patch = { type: 'apply', fieldManager, force: true, body: object } as const;
    const path = `/apis/${apiVersion}/${plurals[kind]}/${metadata.name}`;
    const answer = await send(connection, patchCall(path, patch));
    if (answer.status !== 200 && answer.status !== 201) throw refusalOf(answer, connection, name, done);
    done.push(name);
    onApplied(name);
  }
}

function refusalOf(
  { status, body }: ApiAnswer,
  { root, token }: Connection,
  name: string,
  done: readonly string[],
): Failure {
  const said = statusMessage(body);
  const before = done.length === 0 ? 'Nothing was applied.' : `Applied before: ${done.join(', ')}.`;
  const reason = said === undefined ? '' : `: ${said}`;
  if (status === 401) {
    const credential = token === undefined ? 'client certificate' : 'token';
    return new Failure(
      `${root} does not accept the ${credential} of this context (401)${reason}`,
      `${before} Choose another with --context.`,
    );
  }
  if (status === 403) {
    return new Failure(
      `${root} does not let this context apply ${name} (403)${reason}`,
      `${before} Only an administrator of the cluster can apply it: choose their context with --context, or leave out --apply and give them the printed objects.`,
    );
  }
  return new Failure(`${root} did not apply ${name} (${status})${reason}`, before);
}
