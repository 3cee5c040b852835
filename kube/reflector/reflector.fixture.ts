// A reflector connected to a test hub. It records requests, changes and states, and lets tests inject faults. Waits are
// short by default; a test that needs long ones passes its own timing.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { makeHubClient } from '../client/hub-client.ts';
import { startReflector, type ReflectorOptions } from './reflector.ts';
import { makeTestCollection } from './collection.fixture.ts';
import { startTestHub, type TestHubCertificate } from '../client/hub.fixture.ts';

const resource = { group: 'example.io', version: 'v1', resource: 'things', namespace: 'ns', labelSelector: 'a=b' };

/** Waits are short, so that tests are fast. Time limits are long, so that they do not expire on a slow machine. */
const fast = {
  firstBackoffMs: 5,
  maxBackoffMs: 20,
  maxUnreachableBackoffMs: 20,
  missingPollMs: 20,
  closePollMs: 10,
  healthyMs: 50,
  openTimeoutMs: 10_000,
  listTimeoutMs: 10_000,
};

/** Answers a request and returns true, or returns false to leave the request to the collection. */
export type Intercept = (url: URL, response: ServerResponse, request: IncomingMessage) => boolean;

/** A test hub with one collection. `start` starts a reflector on it, whose changes and states are recorded. */
export async function makeReflectorScene(t: TestContext, certificate: TestHubCertificate) {
  const faults: Intercept[] = [];
  const collection = makeTestCollection((url, response, request) => faults[0]?.(url, response, request) ?? false);
  const hub = await startTestHub(t, certificate, collection.handle);
  const reported: string[] = [];
  const states: string[] = [];
  const count = (part: string): number => hub.requests.filter((line) => line.includes(part)).length;
  return {
    hub,
    collection,
    reported,
    states,
    lists: () => hub.requests.filter((line) => !line.includes('watch=true') && !line.includes('livez')).length,
    watches: () => count('watch=true'),
    /**
     * Lets `intercept` answer requests in place of the collection; it replaces an `intercept` that was set before. With
     * undefined, the collection answers all requests again.
     */
    fault(intercept: Intercept | undefined) {
      faults.splice(0, 1, ...(intercept === undefined ? [] : [intercept]));
    },
    start(options: Partial<ReflectorOptions> = {}) {
      const client = makeHubClient(hub.connection, { version: 'test' });
      const reflector = startReflector({
        client,
        resource,
        onChange: (changes) => void reported.push(...changes.map(({ type, key }) => `${type} ${key}`)),
        onState: ({ phase, fault }) => void states.push(`${phase} ${fault?.reason ?? ''}`.trim()),
        ...options,
        timing: { ...fast, ...options.timing },
      });
      t.after(() => {
        reflector.close();
        client.close();
      });
      return reflector;
    },
  };
}

export const isWatch = (url: URL): boolean => url.searchParams.get('watch') === 'true';
