// The simulated containers: what programs in them see (files, environment, host name). Files that one exec writes are
// there for the next exec. After a restart, a container has its initial files again.
import type { JsonObject, KubeObject } from '../../model/types.ts';
import { ContainerFiles } from './container-files.ts';

/** One running simulated container, as the programs in it see it. */
export interface Container {
  readonly name: string;
  readonly hostname: string;
  readonly environment: ReadonlyMap<string, string>;
  readonly workingDirectory: string;
  readonly files: ContainerFiles;
  /** The container's own command: `command` and `args` of its spec. Empty when the spec does not have them. */
  readonly argv: readonly string[];
  /** True when the container's spec has `stdin: true`, so that a client can attach to a shell. */
  readonly hasStdin: boolean;
}

/** The containers of all pods. Only the 200 containers that were used last are kept in memory. */
export interface Containers {
  /**
   * Returns a container of a pod. One that is not in memory begins with its initial files. Undefined when the pod has
   * no container of this name.
   */
  open(pod: KubeObject, name: string): Container | undefined;
}

/**
 * How many containers are kept in memory. A further one replaces the one that was not used for longest, whose files are
 * lost.
 */
const keptContainers = 200;

/** Makes an empty set of containers. */
export function createContainers(): Containers {
  const known = new Map<string, Container>();
  return {
    open(pod, name) {
      const spec = containerSpec(pod, name);
      if (spec === undefined) return undefined;
      const key = `${pod.metadata.uid} ${name} ${restartCountOf(pod, name)}`;
      const container = known.get(key) ?? start(pod, spec);
      known.delete(key);
      known.set(key, container);
      const [oldest] = known.keys();
      if (known.size > keptContainers && oldest !== undefined) known.delete(oldest);
      return container;
    },
  };
}

/** The entry for a container in `spec.containers`, `initContainers` or `ephemeralContainers`. */
export function containerSpec(pod: KubeObject, name: string): JsonObject | undefined {
  const spec = (pod['spec'] ?? {}) as JsonObject;
  const all = [spec['containers'], spec['initContainers'], spec['ephemeralContainers']] as (JsonObject[] | undefined)[];
  return all.flatMap((list) => list ?? []).find((entry) => entry['name'] === name);
}

/** The entry for a container in the pod's status. */
export function containerStatus(pod: KubeObject, name: string): JsonObject | undefined {
  const status = (pod['status'] ?? {}) as JsonObject;
  const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'];
  return lists
    .flatMap((list) => (status[list] as JsonObject[] | undefined) ?? [])
    .find((entry) => entry['name'] === name);
}

/** How often a container was restarted; 0 when the status does not say. */
export function restartCountOf(pod: KubeObject, name: string): number {
  return Number(containerStatus(pod, name)?.['restartCount'] ?? 0);
}

function start(pod: KubeObject, spec: JsonObject): Container {
  const hostname = String(pod['spec']?.hostname ?? pod.metadata.name);
  const environment = new Map([
    ['PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
    ['HOSTNAME', hostname],
    ['KUBERNETES_SERVICE_HOST', '10.96.0.1'],
    ['KUBERNETES_SERVICE_PORT', '443'],
    ['HOME', '/root'],
  ]);
  for (const entry of (spec['env'] as JsonObject[] | undefined) ?? []) {
    if (typeof entry['value'] === 'string') environment.set(String(entry['name']), entry['value']);
  }
  const workingDirectory = String(spec['workingDir'] ?? '/');
  const files = new ContainerFiles();
  for (const directory of '/bin /dev /etc /home /opt /root /run /tmp /usr/bin /var/log /var/tmp'.split(' ')) {
    files.makeDirectory(directory);
  }
  files.makeDirectory(workingDirectory);
  for (const mount of (spec['volumeMounts'] as JsonObject[] | undefined) ?? []) {
    files.makeDirectory(String(mount['mountPath'] ?? '/'));
  }
  const address = String(pod['status']?.podIP ?? '10.244.0.2');
  const namespace = pod.metadata.namespace ?? 'default';
  const texts: Readonly<Record<string, string>> = {
    '/etc/hostname': `${hostname}\n`,
    '/etc/hosts': `# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost\n${address}\t${hostname}\n`,
    '/etc/os-release': 'NAME="Simulated Linux"\nID=simulated\nPRETTY_NAME="Simulated Linux"\n',
    '/etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n',
    '/etc/resolv.conf':
      `search ${namespace}.svc.cluster.local svc.cluster.local cluster.local\n` +
      'nameserver 10.96.0.10\noptions ndots:5\n',
  };
  for (const [path, text] of Object.entries(texts)) files.write(path, Buffer.from(text));
  return {
    name: String(spec['name']),
    hostname,
    environment,
    workingDirectory,
    files,
    argv: [...((spec['command'] as string[] | undefined) ?? []), ...((spec['args'] as string[] | undefined) ?? [])],
    hasStdin: spec['stdin'] === true,
  };
}
