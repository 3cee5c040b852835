// One HTTPS request to a member as its admin, and the little parsing that tests need. No connection is kept, since
// members are killed and restarted on purpose.
import { request as httpsRequest } from 'node:https';

import { eventually } from '../site/polling.ts';
import type { KeyPair } from '../pretend/certificates.ts';
import type { MemberAnswer } from './fixture-types.ts';

/** Where to send it and as whom. */
export interface AdminAccess {
  readonly url: string;
  readonly caPem: string;
  readonly admin: KeyPair;
}

/** Sends one request; a string body goes as it is, anything else as JSON. Rejects on connection faults only. */
export function adminRequest(
  access: AdminAccess,
  method: string,
  target: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<MemberAnswer> {
  const url = new URL(access.url);
  const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: url.hostname,
        port: url.port,
        method,
        path: target,
        ca: access.caPem,
        cert: access.admin.certPem,
        key: access.admin.keyPem,
        agent: false,
        timeout: 30_000,
        headers: {
          accept: 'application/json',
          ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') });
        });
      },
    );
    request.once('error', reject);
    request.once('timeout', () => request.destroy(new Error(`${method} ${target}: no answer for 30 s`)));
    request.end(payload);
  });
}

interface TypedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

/** Server-side apply of one object as admin; throws with the member's answer when it refuses. */
export async function applyObject(access: AdminAccess, object: object): Promise<void> {
  const typed = object as TypedObject;
  const prefix = typed.apiVersion.includes('/') ? `/apis/${typed.apiVersion}` : `/api/${typed.apiVersion}`;
  const discovery = await adminRequest(access, 'GET', prefix);
  const list: ResourceList = discovery.status === 200 ? (JSON.parse(discovery.body) as ResourceList) : {};
  const resource = list.resources?.find((each) => each.kind === typed.kind && !each.name.includes('/'));
  if (resource === undefined) throw new Error(`no resource for ${typed.apiVersion} ${typed.kind}`);
  const namespace = resource.namespaced ? `/namespaces/${typed.metadata.namespace ?? 'default'}` : '';
  const target = `${prefix}${namespace}/${resource.name}/${encodeURIComponent(typed.metadata.name)}`;
  const patch = (): ReturnType<typeof adminRequest> =>
    adminRequest(access, 'PATCH', `${target}?fieldManager=fixture&force=true`, object, {
      'content-type': 'application/apply-patch+yaml',
    });
  // A kind whose CustomResourceDefinition is new is in discovery before the server can apply objects of it.
  const answer = await eventually(`apply ${target}`, async () => {
    const given = await patch();
    const isTooEarly = given.status === 503 && /delay between when CustomResourceDefinitions/.test(given.body);
    return isTooEarly ? undefined : given;
  });
  if (answer.status >= 300) throw new Error(`apply ${target}: ${answer.status} ${answer.body}`);
}

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const labelPair = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Sum of the samples of `name` that carry all `labels` in a Prometheus text. */
export function sumMetric(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  let sum = 0;
  for (const line of text.split('\n')) {
    if (!line.startsWith(name)) continue;
    const match = sampleLine.exec(line);
    if (match === null || match[1] !== name) continue;
    const found = new Map([...(match[2] ?? '').matchAll(labelPair)].map((pair) => [pair[1], pair[2]]));
    if (Object.entries(labels).every(([label, value]) => found.get(label) === value)) sum += Number(match[3]);
  }
  return sum;
}
