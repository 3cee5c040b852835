// The source that makes one cluster of each vcluster Secret `vc-<name>`, whose key `config` is a kubeconfig. Unless an
// address was configured, vcluster writes the address `https://localhost:8443` into the kubeconfig, which would be the
// gateway's own pod. In this case the gateway connects to the vcluster's Service, and verifies the name `localhost` in
// the certificate.
import type { ApiObject } from '../../../kube/types.ts';
import type { HubSource } from '../hub-source.ts';
import { namespacesOf, type NamespacedOptions } from './cluster-api.ts';
import { fieldOf } from '../../../lib/objects/json-object.ts';
import { about, labelsOf, oldestFirst, secretText, titleOf } from './hub-object.ts';
import { makeRegistry, type Access, type Registration } from './registration.ts';
import { readSecretKubeconfig } from './secret-kubeconfig.ts';

const prefix = 'vc-';

export function makeVclusterSource({ namespaces }: NamespacedOptions): HubSource {
  const registry = makeRegistry('vcluster');
  return {
    name: 'vcluster',
    watches: namespacesOf(namespaces).map((scope) => ({
      group: '',
      version: 'v1',
      resource: 'secrets',
      // Older vcluster releases set no label to select by. Selecting by type at least excludes Helm releases and
      // ServiceAccount tokens.
      fieldSelector: 'type=Opaque',
      ...scope,
    })),
    compile(objects) {
      const clusters = oldestFirst(...objects).filter(([, secret]) => isKubeconfig(secret));
      return registry(clusters.map(([, secret]) => registrationOf(secret)));
    },
  };
}

/**
 * Whether the Secret holds the kubeconfig of a vcluster. `vc-config-<name>`, which holds vcluster's own settings, does
 * not have the key `config`.
 */
function isKubeconfig(secret: ApiObject): boolean {
  const { name } = secret.metadata;
  return name.startsWith(prefix) && name.length > prefix.length && fieldOf(secret, 'data', 'config') !== undefined;
}

function registrationOf(secret: ApiObject): Registration {
  const title = titleOf('Secret', secret);
  const name = secret.metadata.name.slice(prefix.length);
  return {
    key: title,
    object: secret,
    others: [],
    describe: () => ({
      originalName: name,
      sourceDetail: title,
      labels: labelsOf(secret),
    }),
    access: () =>
      about(title, () =>
        besideSecret(
          readSecretKubeconfig('data["config"]', secretText(secret, 'config') ?? ''),
          name,
          secret.metadata.namespace ?? '',
        ),
      ),
  };
}

function besideSecret(access: Access, name: string, namespace: string): Access {
  if (access.endpoint.host !== 'localhost') return access;
  const host = `${name}.${namespace}.svc`;
  return {
    ...access,
    endpoint: { ...access.endpoint, host, port: 443 },
    tls: { ...access.tls, serverName: access.tls.serverName ?? 'localhost' },
    conditions: [
      {
        type: 'AddressReplaced',
        status: 'True',
        reason: 'Localhost',
        message: `the kubeconfig has the address localhost, which would be the gateway itself; the Service ${host} is used instead; set exportKubeConfig.server of the vcluster to use another address`,
      },
    ],
  };
}
