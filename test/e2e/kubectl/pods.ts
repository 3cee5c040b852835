// Pods that e2e tests talk to, on the kubelet stand-in. What a pod writes must not depend on when one looks, so they
// write a fixed text and then wait, or wait for a file that the test makes.

/** A pod on the stand-in; `spec` has the containers and whatever else differs. */
export function kubeletPod(name: string, namespace: string, spec: object, labels: object = { app: name }): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    spec: { nodeName: 'kubelet-0', terminationGracePeriodSeconds: 1, ...spec },
  };
}

/** Declares port 8080 (HTTP, and an echo for everything else) and runs until it is deleted, silent. */
export function boxPod(name: string, namespace: string): object {
  const main = { name: 'main', image: 'example.test/box', ports: [{ containerPort: 8080 }] };
  return kubeletPod(name, namespace, { containers: [{ ...main, command: ['sleep', '100000'] }] });
}

/** Two containers, `left` and `right`, that each write four lines and then wait. */
export function talkingPod(name: string, namespace: string): object {
  const script = (side: string): string[] => [
    'sh',
    '-c',
    `for i in 1 2 3; do echo "${side} $i"; done; echo "${side} end"; exec sleep 100000`,
  ];
  const container = (side: string): object => ({ name: side, image: 'busybox', command: script(side) });
  return kubeletPod(name, namespace, { containers: [container('left'), container('right')] });
}

/** Writes `first`, waits for the file /tmp/go, writes `second` and ends with 0. */
export function followedPod(name: string, namespace: string): object {
  const script = 'echo first; until [ -e /tmp/go ]; do sleep 0.05; done; echo second';
  const main = { name: 'main', image: 'busybox', command: ['sh', '-c', script] };
  return kubeletPod(name, namespace, { restartPolicy: 'Never', containers: [main] });
}

/** Answers every line of its standard input with `got LINE`; `bye` ends it with 3. */
export function answeringPod(name: string, namespace: string): object {
  const script = 'while read word; do echo "got $word"; [ "$word" = bye ] && exit 3; done';
  const main = { name: 'main', image: 'busybox', stdin: true, command: ['sh', '-c', script] };
  return kubeletPod(name, namespace, { restartPolicy: 'Never', containers: [main] });
}

/** Port 80 of the service is 8080 of the pods labelled `app: <name>`. */
export function podService(name: string, namespace: string): object {
  const spec = { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec };
}
