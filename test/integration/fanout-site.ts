// A gateway with three members that have a few pods and a fourth that is down, for tests of requests to every cluster.
// Objects are odd on purpose (integer keys, 2^53+1, `1.0`), so that parsing and printing one anywhere changes it.
import { exchange, requestBytes } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import type { MemberRequest } from '../site/member.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
const paths = { verbs: ['*'], nonResourceURLs: ['*'] };
const rulesOf = (user: string, clusters: readonly string[]): object[] =>
  [everything, paths].map((rule) => ({ subjects: [{ kind: 'User', name: user }], clusters, ...rule }));

const actsAsAlice = {
  subjects: [{ kind: 'User', name: 'ops' }],
  clusters: ['m2'],
  verbs: ['impersonate'],
  apiGroups: [''],
  resources: ['users'],
  resourceNames: ['alice'],
};

/** alice may reach everything, bob m1 and m3, eve nothing, ops act as alice in m2; m0 is labelled `tier`. */
export function startFanoutSite(): Promise<Site> {
  return startSite({
    members: 3,
    users: ['alice', 'bob', 'eve', 'ops'].map((name) => ({ name, token: `${name}-token` })),
    rules: [...rulesOf('alice', ['*']), ...rulesOf('bob', ['m1', 'm3']), actsAsAlice],
    contexts: (members) => [{ ...members[0]!, name: 'm0', server: 'https://127.0.0.1:1', labels: { tier: 'dead' } }],
    config: { firstByteTimeoutSeconds: 1 },
  });
}

/** Pods of each member. */
export const pods: ReadonlyMap<string, readonly string[]> = new Map([
  ['m1', ['a', 'b', 'c']],
  ['m2', ['d', 'e']],
  ['m3', ['f']],
]);

/** Selects the clusters that are up. */
export const live = 'clusterSelector=!tier';

export function ask(
  site: Site,
  path: string,
  user = 'alice',
  headers: readonly string[] = [],
  method = 'GET',
  body = '',
): Promise<RawAnswer> {
  return exchange(site, requestBytes(`${method} ${path}`, [`Authorization: Bearer ${user}-token`, ...headers], body));
}

export const json = ['Content-Type: application/json'];

export function status(code: number, reason: string, message: string): string {
  return JSON.stringify({ kind: 'Status', status: 'Failure', reason, message, code });
}

/** As much of a kube-apiserver as these tests ask of it. */
export function servePods(request: MemberRequest, names: readonly string[]): void {
  const url = new URL(request.target, 'https://m');
  const one = /^\/api\/v1\/namespaces\/x\/pods\/(\w+)$/.exec(url.pathname);
  if (one !== null) {
    if (names.includes(one[1]!)) request.reply(200, json, pod(one[1]!));
    else request.reply(404, json, status(404, 'NotFound', `pods "${one[1]}" not found`));
    return;
  }
  if (url.pathname !== '/api/v1/pods') {
    request.reply(404, json, status(404, 'NotFound', 'the server could not find the requested resource'));
    return;
  }
  const from = Number(url.searchParams.get('continue') ?? 0);
  const limit = Number(url.searchParams.get('limit') ?? 0) || names.length;
  const page = names.slice(from, from + limit);
  const more = from + limit < names.length ? { continue: String(from + limit) } : {};
  const metadata = JSON.stringify({ resourceVersion: '7', ...more });
  if (request.values('accept')[0]!.includes('as=Table')) {
    const rows = page.map((name) => `{"cells":["${name}"],"object":{"metadata":{"name":"${name}"}}}`);
    const columns = '[{"name":"Name","type":"string"}]';
    request.reply(
      200,
      json,
      `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":${metadata},"columnDefinitions":${columns},"rows":[${rows.join()}]}`,
    );
    return;
  }
  request.reply(
    200,
    json,
    `{"kind":"PodList","apiVersion":"v1","metadata":${metadata},"items":[${page.map(pod).join()}]}`,
  );
}

/** A pod as its member writes it. */
export function pod(name: string): string {
  return `{"metadata":{"name":"${name}","resourceVersion":"5","annotations":{"2":"b","1":"a"}},"big":9007199254740993,"f":1.0}`;
}

/** The same as the merged answer shows it. */
export const marked = (name: string, cluster: string): string =>
  pod(name).replace('"annotations":{', `"annotations":{"shadow.clusterpedia.io/cluster-name":"${cluster}",`);
