// Reads a kubeconfig that is stored in a hub object; the current context of the kubeconfig is the cluster. Whoever
// wrote the object is not the operator of the gateway. A file path would read the gateway's disk, and an exec plugin
// would run in the gateway's pod. So kubeconfigs with a file path or an exec plugin are refused, and no file is opened.
import { ConfigurationError, faultText } from '../../../lib/configuration-error.ts';
import { hasTooManyParts, mostParts } from '../../../lib/yaml/yaml-parts.ts';
import { hasTls, trustOf } from '../kubeconfig/kubeconfig-cluster.ts';
import {
  parseKubeconfig,
  type ClusterEntry,
  type ContextEntry,
  type Kubeconfig,
  type UserEntry,
} from '../kubeconfig/kubeconfig-file.ts';
import { planCredential } from '../kubeconfig/kubeconfig-user.ts';
import { memberAddress, memberProxy, type Access } from './registration.ts';
import { unusable } from '../unusable.ts';

/**
 * Longest kubeconfig that is read, in characters; a longer one is refused. etcd's default limit for a request is 1.5
 * MiB, and a kubeconfig of one cluster is far shorter.
 */
const maxLength = 1024 * 1024;

/**
 * How to reach the cluster of the current context. Without a current-context, the kubeconfig must have exactly one
 * context.
 * @param what the field that contains the kubeconfig, for messages
 * @throws GatewayError CLUSTER_UNUSABLE with the reason; the message contains no value of the kubeconfig
 */
export function readSecretKubeconfig(what: string, text: string): Access {
  if (text.length > maxLength) throw unusable(`${what} is longer than 1 MiB`);
  if (hasTooManyParts(text)) throw unusable(`${what} has more than ${mostParts} lines or entries`);
  const kubeconfig = parse(what, text);
  const context = currentContext(what, kubeconfig);
  const cluster = kubeconfig.clusters.get(context.cluster);
  const user = kubeconfig.users.get(context.user);
  if (cluster === undefined) throw unusable(`${what}: the cluster of its current context is not in it`);
  if (user === undefined) throw unusable(`${what}: the user of its current context is not in it`);
  refuseForeign(what, cluster, user);
  const endpoint = memberAddress(`the server in ${what}`, cluster.server, hasTls(cluster));
  const tls = trustOf(what, cluster, refuseFile);
  const proxy = memberProxy(`the proxy-url in ${what}`, cluster.proxyUrl);
  const plan = planCredential(what, { ...user, token: user.token.trim() }, refuseFile, false);
  if (plan.kind === 'none')
    throw unusable(`${what} has no credential for its user; add a token or a client certificate`);
  return { endpoint, tls, proxy, plan };
}

function parse(what: string, text: string): Kubeconfig {
  try {
    return parseKubeconfig(what, text);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const [first] = error.faults;
    throw unusable(`${first === undefined ? what : faultText(first)}; it must be a kubeconfig`);
  }
}

function currentContext(what: string, { contexts, currentContext: name }: Kubeconfig): ContextEntry {
  const named = name === '' ? contexts : contexts.filter((context) => context.name === name);
  const [found, second] = named;
  if (found === undefined) {
    throw unusable(name === '' ? `${what} has no context` : `${what}: its current-context is not among its contexts`);
  }
  if (second !== undefined) {
    throw unusable(
      name === ''
        ? `${what} has several contexts and no current-context; set it`
        : `${what} has several contexts with the name of its current-context`,
    );
  }
  return found;
}

function refuseForeign(what: string, cluster: ClusterEntry, user: UserEntry): void {
  const files = Object.entries({
    'certificate-authority': cluster.caFile,
    tokenFile: user.tokenFile,
    'client-certificate': user.certificateFile,
    'client-key': user.keyFile,
  }).filter(([, path]) => path !== '');
  const [file] = files;
  if (file !== undefined) {
    throw unusable(
      `${what} names a file (${file[0]}), which the gateway does not have: put the content of the file into the kubeconfig`,
    );
  }
  if (user.exec !== undefined) {
    throw unusable(
      `${what} has an exec plugin, which the gateway does not run for a cluster from the hub; use a token or a client certificate`,
    );
  }
}

/** Passed where a function to read files is expected. Refuses every file. */
function refuseFile(): never {
  throw unusable('a kubeconfig on the hub must not name files; put the content of the file into it');
}
