// Requests that are made to be expensive, and how much CPU time the gateway may spend on each. Refusing a request must
// be cheap as well, so answers with any status are measured; a status from 500 fails.
import { request as httpsRequest, type Agent } from 'node:https';

/** Limit in milliseconds for the CPU time of all gateway processes for one request. */
export const mostHostileCpuMs = 50;

export interface HostileQuestion {
  readonly name: string;
  readonly path: string;
  /** When set, the request is a POST with this body. */
  readonly body?: string;
}

const pods = '/apis/clusterpedia.io/v1beta1/resources/api/v1/pods?limit=50';
const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const times = (count: number, text: (i: number) => string, between = ','): string =>
  Array.from({ length: count }, (_, i) => text(i)).join(between);
const asked = (name: string, key: string, text: string, ...more: readonly string[]): HostileQuestion => ({
  name,
  path: [`${pods}&${key}=${encodeURIComponent(text)}`, ...more].join('&'),
});
/** A condition on a field that all generated pods have, with a value that no pod has. */
const noSuch = 'spec.terminationGracePeriodSeconds=31';

export const hostileQuestions: readonly HostileQuestion[] = [
  asked(
    '390 label requirements',
    'labelSelector',
    times(390, (i) => `k${i}!=v`),
  ),
  asked('a label of 3,000 values', 'labelSelector', `app in (${times(3000, (i) => `v${i}`)})`),
  asked('no label of 3,000 values', 'labelSelector', `app notin (${times(3000, (i) => `v${i}`)})`),
  asked('open brackets in a selector', 'labelSelector', `app in ${'('.repeat(5000)}`),
  asked('a name that nearly matches everywhere', 'nameContains', `${'a'.repeat(240)}b`),
  asked('a text that nearly matches everywhere', 'text', `${'a'.repeat(240)}b`),
  asked('text of wildcards', 'text', '%_%_'.repeat(60)),
  asked('a path of 400 keys', 'fieldSelector', `${times(400, () => 'a', '.')}=1`),
  asked('a path of 300 brackets', 'filter', `a${"['b']".repeat(300)}=1`),
  asked(
    '300 conditions of which one must hold',
    'filter',
    times(300, (i) => `status.phase=v${i}`),
  ),
  asked('a number beyond all', 'filter', `metadata.labels['app']>${'9'.repeat(2000)}e999999`),
  asked(
    'an order by 60 paths',
    'orderby',
    times(60, (i) => `.spec.a${i}`),
  ),
  asked('a token of nobody', 'continue', 'A'.repeat(4000)),
  {
    name: 'values of a label with a long prefix',
    path: `${index}/values?resource=pods.v1.&by=${encodeURIComponent("metadata.labels['app']")}&prefix=${'a'.repeat(4000)}`,
  },
  // The next requests must be refused, because the gateway would have to read every object to answer them.
  { name: 'facets by a path that is not indexed', path: `${index}/facets?resource=pods.v1.&by=spec.a` },
  { name: 'values of a path that is not indexed', path: `${index}/values?resource=pods.v1.&by=spec.priority` },
  asked('an order by a path that is not indexed', 'orderby', 'spec.terminationGracePeriodSeconds'),
  // This request makes the gateway read 1,407 pods, about the largest number that it reads without refusing.
  {
    name: 'facets by such a path in two namespaces',
    path: `${index}/facets?resource=pods.v1.&by=spec.terminationGracePeriodSeconds&namespaces=team-01,team-03`,
  },
  {
    name: 'facets by such a path that no object has, in two namespaces',
    path: `${index}/facets?resource=pods.v1.&by=spec.a&namespaces=team-01,team-03`,
  },
  // For the next requests, no database index tells which objects match. So the gateway ends a page early and returns a
  // continue token, from which the next page goes on. Requests that cannot have a continue token are refused.
  asked('a filter by a path that is not indexed, of which none matches', 'filter', noSuch),
  asked('a field selector by such a path', 'fieldSelector', noSuch),
  asked('a filter by such a path that no object has', 'filter', 'spec.a=1'),
  asked('a filter by such a path, by offsets', 'continue', '0', `filter=${noSuch}`),
  asked('a filter by such a path, with what follows counted', 'filter', noSuch, 'withRemainingCount'),
  asked('a filter by such a path, ordered by creation', 'filter', noSuch, 'orderby=created_at'),
  asked('a filter by such a path, ordered by resourceVersion', 'filter', noSuch, 'orderby=resource_version'),
  asked('a filter by such a path, ordered by cluster and creation', 'filter', noSuch, 'orderby=cluster,created_at'),
  asked('a filter by such a path among a half by label', 'labelSelector', 'env in (prod,dev)', `filter=${noSuch}`),
  asked('a filter by a path deep in lists', 'filter', 'spec.containers[].env[].value=v'),
  asked(
    'one of 250 paths deep in lists',
    'filter',
    times(250, (i) => `spec.containers[${i % 3}].env[${i % 8}].value=v${i}`),
  ),
  { name: 'counts with such a filter', path: `${index}/counts?resource=pods.v1.&filter=${noSuch}` },
  { name: 'facets with such a filter', path: `${index}/facets?resource=pods.v1.&by=cluster&filter=${noSuch}` },
  {
    name: 'counts with such a filter in two namespaces',
    path: `${index}/counts?resource=pods.v1.&filter=${noSuch}&namespaces=team-01,team-03`,
  },
  {
    name: 'counts with a filter deep in lists, in a namespace',
    path: `${index}/counts?resource=pods.v1.&filter=spec.containers[].env[].value=v&namespaces=team-03`,
  },
  { name: 'lists in lists', path: `${index}/query`, body: `{"resource":"pods.v1.","filter":${'['.repeat(20_000)}` },
  { name: 'objects in objects', path: `${index}/query`, body: '{"a":'.repeat(20_000) },
];

/** Sends the request; resolves with the status of the answer, whatever it is. */
export function askHostile(agent: Agent, token: string, port: number, question: HostileQuestion): Promise<number> {
  const { path, body } = question;
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  return new Promise((resolve, reject) => {
    const request = httpsRequest({
      host: '127.0.0.1',
      port,
      path,
      agent,
      method: body === undefined ? 'GET' : 'POST',
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    });
    request.once('error', reject);
    request.once('response', (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode!));
    });
    request.end(body);
  });
}
