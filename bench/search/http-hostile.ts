// Questions that are made to cost, and what the gateway may spend on each (E9). Easy to get wrong: a question that is refused must be cheap as well, so
// every answer counts, whatever its status, but one that is the gateway's fault.
import { request as httpsRequest, type Agent } from 'node:https';

/** CPU of the whole process tree for one of them. */
export const mostHostileCpuMs = 50;

export interface HostileQuestion {
  readonly name: string;
  readonly path: string;
  /** Sent by POST. */
  readonly body?: string;
}

const pods = '/apis/clusterpedia.io/v1beta1/resources/api/v1/pods?limit=50';
const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const times = (count: number, text: (i: number) => string, between = ','): string =>
  Array.from({ length: count }, (_, i) => text(i)).join(between);
const asked = (name: string, key: string, text: string): HostileQuestion => ({
  name,
  path: `${pods}&${key}=${encodeURIComponent(text)}`,
});

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
  // Refused: each object would have to be read.
  { name: 'facets by a path that is not indexed', path: `${index}/facets?resource=pods.v1.&by=spec.a` },
  { name: 'values of a path that is not indexed', path: `${index}/values?resource=pods.v1.&by=spec.priority` },
  asked('an order by a path that is not indexed', 'orderby', 'spec.terminationGracePeriodSeconds'),
  // About as many as are read: 1,407 pods.
  {
    name: 'facets by such a path in two namespaces',
    path: `${index}/facets?resource=pods.v1.&by=spec.terminationGracePeriodSeconds&namespaces=team-01,team-03`,
  },
  {
    name: 'facets by such a path that no object has, in two namespaces',
    path: `${index}/facets?resource=pods.v1.&by=spec.a&namespaces=team-01,team-03`,
  },
  { name: 'lists in lists', path: `${index}/query`, body: `{"resource":"pods.v1.","filter":${'['.repeat(20_000)}` },
  { name: 'objects in objects', path: `${index}/query`, body: '{"a":'.repeat(20_000) },
];

/** @returns the status */
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
