// The section of the configuration about the two listeners (for requests, and for operations such as metrics): their
// addresses, the certificate files and the cluster domain.
import type { Config } from './configuration.ts';
import { hostPort, path, text } from './settings/kinds.ts';
import { readSettings } from './settings/settings.ts';
import type { Settings, Written } from './settings/settings.ts';

/** The settings of the listeners. */
export const listenerSettings = {
  listen: { kind: hostPort, default: '127.0.0.1:8443', text: 'address of the gateway, TLS' },
  opsListen: { kind: hostPort, default: '127.0.0.1:8090', text: 'address of metrics and health, plain HTTP' },
  clusterDomain: {
    kind: text,
    placeholder: '<domain>',
    text: 'also serve each cluster at `https://NAME.DOMAIN/`, for clients that drop the path of a server URL',
  },
  tlsCertFile: {
    kind: path,
    otherwise: 'issued by a CA that the gateway makes and keeps in the data directory as `ca.crt`',
    text: 'certificate of the gateway; watched',
  },
  tlsPrivateKeyFile: { kind: path, text: 'key of that certificate; watched' },
} satisfies Settings;

const domainForm = /^(?=.{1,190}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** Checks the settings of the two listeners. `written.fault` is called for each one that is wrong. */
export function readListeners(written: Written): Pick<Config, 'listen' | 'opsListen' | 'clusterDomain' | 'tls'> {
  const {
    listen,
    opsListen,
    tlsCertFile: certFile,
    tlsPrivateKeyFile: keyFile,
    ...given
  } = readSettings(listenerSettings, written);
  if ((certFile === undefined) !== (keyFile === undefined))
    written.fault('--tls-cert-file', '--tls-cert-file and --tls-private-key-file must be given together');
  const clusterDomain = given.clusterDomain?.toLowerCase();
  if (clusterDomain !== undefined && !domainForm.test(clusterDomain))
    written.fault('--cluster-domain', 'must be a DNS name such as clusters.example.com');
  const tls = certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
  return { listen, opsListen, clusterDomain, tls };
}
