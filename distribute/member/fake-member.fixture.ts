// A member cluster in memory, as the session of a cluster reaches it: discovery of some kinds, reads and writes of
// objects, and a note of every request with the identity that sent it.
import type { ApiAnswer, ApiCall, ApiObject } from '../../kube/types.ts';
import { HubRefusal } from '../../kube/objects/object-writer.ts';
import { readAppliedWork, type AppliedWork, type AppliedWorks } from '../inventory/applied-works.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { memberMapper } from './discovery.ts';
import type { MemberClient } from './member-client.ts';
import { makeMemberObjects } from './member-objects.ts';
import type { MemberSession } from './member-session.ts';

type Json = Record<string, any>;

const verbs = ['get', 'list', 'watch'];
const resources = [
  { name: 'configmaps', kind: 'ConfigMap', namespaced: true, verbs },
  { name: 'secrets', kind: 'Secret', namespaced: true, verbs },
  { name: 'namespaces', kind: 'Namespace', namespaced: false, verbs },
];

/** The member. `objects` holds its objects by path, such as `/api/v1/namespaces/ns/configmaps/c`. */
export class FakeMember {
  readonly objects = new Map<string, Json>();
  /** `IDENTITY METHOD PATH` of every request but those for discovery and rights. */
  readonly requests: string[] = [];
  /** Identities whose requests are refused with 403. */
  readonly denied = new Set<string>();
  /** Answers in place of the member, by path. */
  readonly answers = new Map<string, string>();
  /** Whether sessions know the version of every object, as if they watched all. */
  isWatched = false;
  /** What a PUT of the object is refused for, with 422; undefined when it is taken. */
  invalid: (before: Json, given: Json) => string | undefined = () => undefined;
  #version = 10;

  put(path: string, object: Json = {}): Json {
    this.#version += 1;
    const name = path.split('/').at(-1)!;
    const metadata = { name, uid: `uid-${name}`, ...object['metadata'], resourceVersion: String(this.#version) };
    const stored = { ...object, metadata };
    this.objects.set(path, stored);
    return stored;
  }

  client(identity: string): MemberClient {
    return {
      url: 'cluster "m1"',
      request: (call) => Promise.resolve(this.#answer(identity, call)),
      open: () => Promise.reject(new Error('no watches here')),
    };
  }

  /** A session that sends each request as its executor. */
  session(): MemberSession {
    const kinds = memberMapper(this.client('gateway'));
    const session: Partial<MemberSession> = {
      kinds,
      objects: (executor) =>
        makeMemberObjects(this.client(executor.key), 'work-agent', () => Promise.resolve(() => undefined)),
      follow: () => undefined,
      forget: () => undefined,
      watched: (_executor, { kind, namespace, name }) => {
        const found = this.objects.get(`/api/v1/namespaces/${namespace}/${kind.resource}/${name}`);
        const version = this.isWatched ? (found?.['metadata'].resourceVersion ?? 'absent') : undefined;
        return { isFollowable: true, version };
      },
    };
    return session as MemberSession;
  }

  #answer(identity: string, { method, path, body }: ApiCall): ApiAnswer {
    const [at = ''] = path.split('?');
    if (at === '/api/v1') return answer(200, { resources });
    if (at.endsWith('selfsubjectaccessreviews')) return answer(201, { status: { allowed: true } });
    this.requests.push(`${identity} ${method} ${at}`);
    if (this.denied.has(identity)) return answer(403, { message: `User "${identity}" cannot get resource` });
    const raw = this.answers.get(at);
    if (raw !== undefined) return { status: 200, body: Buffer.from(raw) };
    if (method === 'POST') {
      const made = body as Json;
      return answer(201, this.put(`${at}/${made['metadata'].name}`, made));
    }
    const found = this.objects.get(at);
    if (found === undefined) return answer(404, {});
    if (method === 'DELETE') this.objects.delete(at);
    if (method === 'PUT' || method === 'PATCH') {
      const given = body as Json;
      const refused = method === 'PUT' ? this.invalid(found, given) : undefined;
      if (refused !== undefined) return answer(422, { reason: 'Invalid', message: refused });
      const metadata = { ...found['metadata'], ...given['metadata'] };
      return answer(200, this.put(at, { ...found, ...given, metadata }));
    }
    return answer(200, found);
  }
}

function answer(status: number, body: object): ApiAnswer {
  return { status, body: Buffer.from(JSON.stringify(body)) };
}

/** AppliedManifestWorks of one member in memory, those of a hub with the hash `hub`. */
export function fakeAppliedWorks(...given: readonly JsonObject[]): AppliedWorks & { readonly gone: string[] } {
  const held = new Map<string, ApiObject>(
    given.map((each) => [(each as unknown as ApiObject).metadata.name, each as unknown as ApiObject]),
  );
  const get = (name: string): AppliedWork | undefined => {
    const object = held.get(name);
    return object && readAppliedWork(object);
  };
  const gone: string[] = [];
  const change = ({ name }: AppliedWork, part: Json): Promise<AppliedWork> => {
    const old = held.get(name) as Json | undefined;
    if (old === undefined) return Promise.reject(new HubRefusal(404, 'NotFound', 'it is gone'));
    const status = { ...old['status'], ...part['status'] };
    const metadata = { ...old['metadata'], ...part['metadata'] };
    held.set(name, { ...old, status, metadata } as ApiObject);
    return Promise.resolve(get(name)!);
  };
  return {
    gone,
    state: () => ({ phase: 'watching', synced: true }) as ReturnType<AppliedWorks['state']>,
    lookAgain: () => undefined,
    own: () => [...held.values()].map(readAppliedWork),
    foreign: () => undefined,
    of: (work) => get(`hub-${work}`),
    get,
    ensure: (work) => Promise.resolve(get(`hub-${work.name}`)!),
    annotate: async (object, annotations) => void (await change(object, { metadata: { annotations } })),
    writeStatus: (object, status) => change(object, { status }),
    remove: ({ name }) => Promise.resolve(void gone.push(`removed ${name}`)),
    removeFinalizer: ({ name }) => Promise.resolve(void gone.push(`finalizer ${name}`)),
    close: () => undefined,
  };
}
