// Reads and writes objects of the hub for `portcullis join` and `unjoin`, with the rights of the person who runs the
// command.
import { isAboutObject, statusMessage } from '../connection/explain.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import { send } from '../connection/http.ts';
import { Failure } from '../terminal/failure.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { createCall, patchCall } from '../../kube/objects/object-calls.ts';
import { collectionPath, objectPath } from '../../kube/paths.ts';
import type { ApiAnswer } from '../../kube/types.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

const clusterJoins = { group: 'join.portcullis.io', version: 'v1alpha1', resource: 'clusterjoins' };
export const joinsPath = collectionPath(clusterJoins, {});

/** The path of one ClusterJoin. @throws UnusableName */
export function joinPath(name: string): string {
  return objectPath(clusterJoins, name);
}

/** An object of the hub. Only `metadata.name` is known to be there; other fields must be checked. */
export interface HubObject extends JsonObject {
  readonly metadata: { readonly name: string };
}

export interface HubObjects {
  /** Returns the object at the path; undefined when there is none. */
  get(path: string): Promise<HubObject | undefined>;
  create(collection: string, object: object): Promise<HubObject>;
  /** Changes the object at the path by a JSON merge patch. */
  patch(path: string, change: object): Promise<void>;
  /** Deletes the object at the path; resolves with false when there is none. */
  remove(path: string): Promise<boolean>;
}

/**
 * Makes a client for objects of a hub. Every method rejects with a Failure when the hub cannot be reached or refuses.
 */
export function hubObjects(connection: Connection): HubObjects {
  const read = (answer: ApiAnswer, what: string): HubObject => {
    if (answer.status < 300) return parseExact(answer.body) as HubObject;
    throw refusalOf(answer, connection, what);
  };
  return {
    async get(path) {
      const answer = await send(connection, { method: 'GET', path });
      if (answer.status === 404 && isAboutObject(answer.body)) return undefined;
      return read(answer, `get ${path}`);
    },
    create: async (path, body) => read(await send(connection, createCall(path, body)), `create in ${path}`),
    patch: async (path, body) =>
      void read(await send(connection, patchCall(path, { type: 'merge', body })), `change ${path}`),
    async remove(path) {
      const answer = await send(connection, { method: 'DELETE', path });
      if (answer.status === 404 && isAboutObject(answer.body)) return false;
      read(answer, `delete ${path}`);
      return true;
    },
  };
}

function refusalOf({ status, body }: ApiAnswer, { root }: Connection, what: string): Failure {
  const said = statusMessage(body) ?? '';
  const reason = said === '' ? '' : `: ${said}`;
  if (status === 404)
    return new Failure(
      `${root} does not know ClusterJoins (404)`,
      'Choose the hub with --kubeconfig and --context, and install the type: portcullis generate crds --cluster-joins',
    );
  if (status === 403)
    return new Failure(
      `${root} does not let this context ${what} (403)${reason}`,
      'Ask an administrator of the hub, or choose another context with --context.',
    );
  return new Failure(`${root} did not ${what} (${status})${reason}`, '');
}
