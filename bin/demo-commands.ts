// The text that the demo prints: what is running, and commands to copy. All names in the commands are taken from
// objects in the simulated clusters, so that each command works as printed.
import type { Gateway } from '../gateway/start/gateway.ts';
import type { Simulator } from '../sim/server.ts';
import { demoUsers } from '../sim/workloads/workloads.ts';

interface NamedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

/** Returns the text that the demo prints after its start. */
export function demoCommands(parts: {
  readonly gateway: Gateway;
  readonly simulators: readonly Simulator[];
  /** For each user of the demo a one-time link that logs in to the web console. */
  readonly links: readonly { readonly name: string; readonly link: string }[];
  readonly kubeconfig: string;
  /** Path of the program's executable file, for commands that the person copies. */
  readonly program: string;
}): string {
  const { gateway, simulators, links, kubeconfig } = parts;
  const first = simulators[0]!;
  const second = simulators[1] ?? first;
  const [admin, viewer] = demoUsers;
  const deployment = (first.store.list('Deployment', viewer!.namespace) as unknown as readonly NamedObject[])[0]!;
  const place = `-n ${deployment.metadata.namespace ?? 'default'} deploy/${deployment.metadata.name}`;
  const context = `portcullis-${first.name}`;
  const program = `node ${quoted(parts.program)}`;
  return `
Portcullis is open: ${simulators.length} simulated cluster${simulators.length === 1 ? '' : 's'} behind ${gateway.url}
(${simulators.map(({ name }) => name).join(', ')}; metrics at ${gateway.opsUrl}/metrics)

Open in a browser, which will not know the demo's own certificate and asks whether to go on. Each link logs in once:

${links.map(({ name, link }) => `  as ${name.padEnd(4)} ${link}\n`).join('')}
In ${simulators[0]!.name} a rollout goes on, in ${second.name} a pod is in a crash loop${simulators[2] === undefined ? '' : `, ${simulators[2].name} will be away for a minute`}.

Or copy into another terminal:

  export KUBECONFIG=${quoted(kubeconfig)}

  # which clusters are there, and how are they
  kubectl --context portcullis get clusters.gateway.portcullis.io

  # you are ${admin!.name}, who may change things everywhere
  kubectl --context ${context} auth whoami
  kubectl --context ${context} get pods -A
  kubectl --context portcullis-${second.name} get deployments -A
  kubectl --context ${context} logs ${place} --tail=5
  kubectl --context ${context} exec ${place} -- hostname
  kubectl --context ${context} scale ${place} --replicas=4
  kubectl --context ${context} rollout status ${place}

  # one list over all clusters, from the index
  kubectl --context portcullis-all get pods -A -l app=${deployment.metadata.labels?.['app'] ?? deployment.metadata.name}
  kubectl --context portcullis-all get deployments -A --sort-by=.metadata.creationTimestamp

  # what the index does not hold is asked of every cluster
  kubectl --context portcullis-all get events -A
  kubectl --context portcullis-all top pods -A

  # who may delete Secrets, and where; what you may do yourself
  ${program} who-can delete secrets -A --context portcullis
  ${program} what-can --context portcullis

  # watch it change by itself (Ctrl-C ends the watch)
  kubectl --context ${context} get pods -A -w

  # ${viewer!.name} may look into one namespace, and is told no elsewhere: the cluster's own RBAC decides
  kubectl --context ${viewer!.name}@${context} get pods -n ${viewer!.namespace}
  kubectl --context ${viewer!.name}@${context} get pods -n kube-system

Ctrl-C stops everything.
`;
}

/** Quotes a text for a POSIX shell, so that the shell reads it as one word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
