// A pod and a plain HTTP server for unit tests of the stream handlers. All connections are destroyed at the end of a
// test, because otherwise the test process would not end.
import http from 'node:http';
import type { TestContext } from 'node:test';
import type { StreamHooks, UpgradeRequest } from './stream-hooks.ts';
import type { KubeObject } from '../model/types.ts';
import { serve } from '../../test/pretend/server.ts';

/** A running pod with the containers `web` (port 8080) and `shell` (stdin and tty). */
export function testPod(changes: { readonly status?: object; readonly uid?: string } = {}): KubeObject {
  const startedAt = '2026-11-20T10:00:00Z';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web-0',
      namespace: 'shop',
      uid: changes.uid ?? '11111111-2222-4333-8444-555555555555',
      resourceVersion: '7',
      creationTimestamp: startedAt,
    },
    spec: {
      nodeName: 'node-1',
      containers: [
        {
          name: 'web',
          image: 'nginx:1.29',
          env: [{ name: 'COLOR', value: 'green' }],
          ports: [{ containerPort: 8080 }],
        },
        { name: 'shell', image: 'busybox:1.37', stdin: true, tty: true },
      ],
    },
    status: changes.status ?? {
      phase: 'Running',
      podIP: '10.244.1.5',
      containerStatuses: [
        { name: 'web', restartCount: 0, state: { running: { startedAt } } },
        { name: 'shell', restartCount: 0, state: { running: { startedAt } } },
      ],
    },
  };
}

/**
 * Listens on 127.0.0.1 without TLS. The last segment of a request's path is the kind of stream: exec, attach or
 * portforward. Returns the port.
 */
export async function serveStreams(t: TestContext, hooks: StreamHooks, pod: KubeObject = testPod()): Promise<number> {
  const server = http.createServer();
  server.on('upgrade', (req, socket, head) => {
    const [path = '', search = ''] = (req.url ?? '').split('?');
    const query = new URLSearchParams(search);
    const kind = path.slice(path.lastIndexOf('/') + 1) as UpgradeRequest['kind'];
    hooks.serveUpgrade({ kind, pod, container: query.get('container') ?? 'web', query, req, socket, head });
  });
  const { port, close } = await serve(server);
  t.after(close);
  return port;
}
