// The source that makes one cluster of each cluster Secret of Argo CD: name, server and a JSON `config`. For its own
// cluster and for AWS, Argo CD uses the identity of its own pod, which the Secret does not contain. Such Secrets are
// refused; the gateway's identity is never used instead.
import { z } from 'zod';
import type { ApiObject } from '../../../kube/types.ts';
import type { HubSource } from '../hub-source.ts';
import { namespacesOf, type NamespacedOptions } from './cluster-api.ts';
import { onlyPlan, trustIn } from './hub-credential.ts';
import { about, bytesField, labelOf, labelsOf, oldestFirst, secretText, titleOf, trimLineEnd } from './hub-object.ts';
import { makeRegistry, memberAddress, memberProxy, type Access, type Registration } from './registration.ts';
import { goFlag, goStruct, goText } from '../../../lib/yaml/go-fields.ts';
import { GatewayError } from '../../../model/errors.ts';
import { SourceFault, unusable } from '../unusable.ts';

const typeLabel = 'argocd.argoproj.io/secret-type';
/** Where Argo CD is installed and reads its Secrets unless told otherwise. */
const defaultNamespaces = ['argocd'];
/** The host names under which Argo CD registers the cluster that it runs in. */
const inClusterHosts: ReadonlySet<string> = new Set(['kubernetes.default.svc', 'kubernetes.default']);

// The fields of ClusterConfig (Argo CD pkg/apis/application/v1alpha1). caData, certData and keyData are base64.
const schema = goStruct({
  username: goText,
  password: goText,
  bearerToken: goText,
  proxyUrl: goText,
  awsAuthConfig: z.unknown().optional(),
  execProviderConfig: z.unknown().optional(),
  tlsClientConfig: goStruct({ insecure: goFlag, serverName: goText, caData: goText, certData: goText, keyData: goText })
    .nullish()
    .transform((value) => value ?? { insecure: false, serverName: '', caData: '', certData: '', keyData: '' }),
});
type Config = z.output<typeof schema>;

/**
 * Makes the source. Without `namespaces` it reads Secrets in `argocd` only and never in all namespaces: Argo CD does
 * not either, and whoever may write a Secret somewhere could register clusters.
 */
export function makeArgocdSource({ namespaces }: NamespacedOptions): HubSource {
  const registry = makeRegistry('argocd');
  return {
    name: 'argocd',
    watches: namespacesOf(namespaces.length === 0 ? defaultNamespaces : namespaces).map((scope) => ({
      group: '',
      version: 'v1',
      resource: 'secrets',
      labelSelector: `${typeLabel}=cluster`,
      ...scope,
    })),
    compile(objects) {
      const clusters = oldestFirst(...objects).filter(([, secret]) => labelOf(secret, typeLabel) === 'cluster');
      return registry(clusters.map(([, secret]) => registrationOf(secret)));
    },
  };
}

function registrationOf(secret: ApiObject): Registration {
  const title = titleOf('Secret', secret);
  return {
    key: title,
    object: secret,
    others: [],
    describe: () => ({
      originalName: nameOf(secret),
      sourceDetail: title,
      labels: labelsOf(secret, (key) => key !== typeLabel),
    }),
    access: () => about(title, () => accessTo(secret)),
  };
}

/** The value of the key `name` of the Secret; '' when it is absent or not valid text. */
function nameOf(secret: ApiObject): string {
  try {
    return trimLineEnd(secretText(secret, 'name') ?? '');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return '';
  }
}

function accessTo(secret: ApiObject): Access {
  const config = readConfig(secretText(secret, 'config') ?? '');
  const hasTls =
    config.tlsClientConfig.insecure || config.tlsClientConfig.caData !== '' || config.tlsClientConfig.certData !== '';
  const endpoint = memberAddress('data["server"]', trimLineEnd(secretText(secret, 'server') ?? ''), hasTls);
  if (config.awsAuthConfig !== undefined && config.awsAuthConfig !== null) throw foreign('awsAuthConfig');
  if (config.execProviderConfig !== undefined && config.execProviderConfig !== null)
    throw foreign('execProviderConfig');
  const { tlsClientConfig: tls, bearerToken: token, username, password } = config;
  const field = (name: string): string => `tlsClientConfig.${name}`;
  const fields = {
    token,
    username,
    password,
    cert: bytesField(field('certData'), tls.certData),
    key: bytesField(field('keyData'), tls.keyData),
  };
  if (inClusterHosts.has(endpoint.host) && Object.values(fields).every((value) => value === '')) {
    throw new SourceFault(
      'HubItself',
      `this is the hub itself, which Argo CD reaches as its own ServiceAccount; use the hub's own address, or give the Secret a credential that may impersonate`,
    );
  }
  const names = { token: 'bearerToken', cert: field('certData'), key: field('keyData') };
  return {
    endpoint,
    tls: trustIn(field('caData'), bytesField(field('caData'), tls.caData), tls.insecure, tls.serverName),
    proxy: memberProxy('proxyUrl', config.proxyUrl),
    plan: onlyPlan(names, fields),
  };
}

function readConfig(json: string): Config {
  let value: unknown;
  try {
    value = json === '' ? {} : JSON.parse(json);
  } catch {
    // The message of JSON.parse quotes the text, which contains credentials.
    throw unusable('data["config"] is not JSON');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw unusable(
    `data["config"] is not a cluster configuration of Argo CD (${parsed.error.issues[0]?.path.join('.') || 'not an object'})`,
  );
}

function foreign(field: string): Error {
  return unusable(
    `data["config"] has ${field}: the gateway does not have the programs and cloud identities of Argo CD's pod; use a bearerToken or a client certificate`,
  );
}
