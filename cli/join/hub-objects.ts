// Reads and writes objects of the hub for `portcullis join` and `unjoin`, with the rights of the person who runs the
// command.
import { explainConnection, statusMessage } from '../connection/explain.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import { defaultLimits, send, type Answer, type Question } from '../connection/http.ts';
import { Failure } from '../terminal/failure.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

export const joinsPath = '/apis/join.portcullis.io/v1alpha1/clusterjoins';

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
  const ask = async (method: Question['method'], path: string, body?: object): Promise<Answer> => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': type }) };
    const question = { method, path, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    try {
      return await send(connection, question);
    } catch (error) {
      throw error instanceof Failure ? error : explainConnection(error, connection, defaultLimits.timeoutMs);
    }
  };
  const read = (answer: Answer, what: string): HubObject => {
    if (answer.status < 300) return parseExact(answer.body) as HubObject;
    throw refusalOf(answer, connection, what);
  };
  return {
    async get(path) {
      const answer = await ask('GET', path);
      if (answer.status === 404 && isAboutObject(answer)) return undefined;
      return read(answer, `get ${path}`);
    },
    create: async (collection, object) => read(await ask('POST', collection, object), `create in ${collection}`),
    patch: async (path, change) => void read(await ask('PATCH', path, change), `change ${path}`),
    async remove(path) {
      const answer = await ask('DELETE', path);
      if (answer.status === 404 && isAboutObject(answer)) return false;
      read(answer, `delete ${path}`);
      return true;
    },
  };
}

/**
 * Tells the two causes of a 404 apart: true when the object does not exist, false when the hub does not serve the type.
 * In the second case the Status has no object name in its details.
 */
function isAboutObject({ body }: Answer): boolean {
  try {
    const parsed: unknown = JSON.parse(body);
    const details = isJsonObject(parsed) ? parsed['details'] : undefined;
    return isJsonObject(details) && typeof details['name'] === 'string';
  } catch {
    return false;
  }
}

function refusalOf({ status, body }: Answer, { root }: Connection, what: string): Failure {
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
