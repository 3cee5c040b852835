// What the test of rights asks of a real member: objects are made as its admin, and every decision is its own answer to
// a SelfSubjectAccessReview that impersonates with the gateway's very own headers. Groups that a member adds to an
// impersonated identity must be added by it, not here.
import { Agent, request } from 'node:https';
import type { User } from '../../../model/user.ts';
import { upstreamHeaders } from '../../../routing/forward/headers.ts';
import type { Member, MemberAnswer } from '../../controlplane/fixture.ts';
import type { WorldObject, WorldType } from './index-rights-world.ts';

/** What a request would be about; namespace and name '' for none. */
export interface Asked {
  readonly verb: string;
  readonly type: Pick<WorldType, 'group' | 'resource'>;
  /** Default none. */
  readonly subresource?: string;
  readonly namespace: string;
  readonly name: string;
}

/** What a request for a path that is no resource would be. */
export interface AskedPath {
  readonly verb: string;
  readonly path: string;
}

export interface ListedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export interface RightsMember {
  readonly name: string;
  /** Made, or replaced where it is there. */
  readonly make: (objects: readonly WorldObject[]) => Promise<void>;
  readonly remove: (objects: readonly WorldObject[]) => Promise<void>;
  readonly list: (type: Pick<WorldType, 'group' | 'version' | 'resource'>) => Promise<readonly ListedObject[]>;
  /** The member's own word on whoever it arrives at when the gateway sends this identity. */
  readonly isAllowed: (outgoing: User, asked: Asked | AskedPath) => Promise<boolean>;
  /** Questions so far. */
  readonly asked: () => number;
  readonly close: () => void;
}

const plurals: Readonly<Record<string, string>> = {
  ConfigMap: 'configmaps',
  Secret: 'secrets',
  Deployment: 'deployments',
  Namespace: 'namespaces',
  StorageClass: 'storageclasses',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
};
const reviewPath = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const atOnce = 16;

export function makeRightsMember(member: Member): RightsMember {
  const { adminCertPem: cert, adminKeyPem: key, caPem: ca } = member;
  const admin = new Agent({ keepAlive: true, maxSockets: atOnce, ca, cert, key });
  const gateway = new Agent({ keepAlive: true, maxSockets: atOnce, ca });
  const url = new URL(member.url);
  let asked = 0;

  const send = (agent: Agent, method: string, path: string, headers: readonly string[], body?: object) =>
    new Promise<MemberAnswer>((resolve, reject) => {
      const payload = body === undefined ? undefined : JSON.stringify(body);
      const sent = ['Host', url.host, 'Accept', 'application/json', ...headers];
      if (payload !== undefined) sent.push('Content-Length', String(Buffer.byteLength(payload)));
      const call = request({ host: url.hostname, port: url.port, agent, method, path, headers: sent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') });
        });
      });
      call.once('error', reject);
      call.end(payload);
    });
  const json = ['Content-Type', 'application/json'];
  const expect = async (answer: MemberAnswer, what: string, ...codes: readonly number[]): Promise<string> => {
    if (!codes.includes(answer.status)) throw new Error(`${what}: ${answer.status} ${answer.body}`);
    return answer.body;
  };

  return {
    name: member.name,
    make: (objects) =>
      inParallel(objects, async (object) => {
        const path = pathOf(object);
        const made = await send(admin, 'POST', path, json, object);
        if (made.status !== 409) return void (await expect(made, path, 201));
        const named = `${path}/${encodeURIComponent(object.metadata.name)}`;
        const merge = ['Content-Type', 'application/merge-patch+json'];
        await expect(await send(admin, 'PATCH', named, merge, object), named, 200);
      }),
    remove: (objects) =>
      inParallel(objects, async (object) => {
        const path = `${pathOf(object)}/${encodeURIComponent(object.metadata.name)}`;
        await expect(await send(admin, 'DELETE', path, []), path, 200, 202, 404);
      }),
    list: async ({ group, version, resource }) => {
      const path = `${group === '' ? '/api' : `/apis/${group}`}/${version}/${resource}`;
      return (JSON.parse(await expect(await send(admin, 'GET', path, []), path, 200)) as { items: ListedObject[] })
        .items;
    },
    isAllowed: async (outgoing, question) => {
      asked += 1;
      const headers = upstreamHeaders(
        {
          inbound: json,
          host: url.host,
          credential: {
            authorization: `Bearer ${member.gatewayToken}`,
            clientCertificate: undefined,
            expiresAtMs: undefined,
          },
          peerAddress: '',
          auditId: `rights-${asked}`,
          upgrade: false,
        },
        outgoing,
      );
      const review = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: attributesOf(question),
      };
      const answer = await send(gateway, 'POST', reviewPath, headers.slice(2), review);
      const { status } = JSON.parse(await expect(answer, reviewPath, 201)) as { status: { allowed: boolean } };
      return status.allowed;
    },
    asked: () => asked,
    close: () => {
      admin.destroy();
      gateway.destroy();
    },
  };
}

function attributesOf(question: Asked | AskedPath): object {
  if ('path' in question) return { nonResourceAttributes: question };
  const { type, ...asked } = question;
  return { resourceAttributes: { ...asked, group: type.group, resource: type.resource } };
}

function pathOf({ apiVersion, kind, metadata }: WorldObject): string {
  const prefix = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const namespace = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  return `${prefix}${namespace}/${plurals[kind]!}`;
}

/** Runs some at once, in order of the list. */
export async function inParallel<T>(
  items: readonly T[],
  run: (item: T) => Promise<void>,
  most = atOnce,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < items.length) await run(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, work));
}
