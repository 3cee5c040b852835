// The section of the configuration about the two listeners (for requests, and for operations such as metrics): their
// addresses, the certificate files and the cluster domain.
import { parseHostPort } from '../lib/text/host-port.ts';
import type { HostPort } from '../lib/text/host-port.ts';
import type { Config } from './configuration.ts';
import { writtenPath } from './written.ts';
import type { Fault } from './values/values.ts';
import type { Written } from './written.ts';

const domainForm = /^(?=.{1,190}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** Checks the settings of the two listeners. `written.fault` is called for each one that is wrong. */
export function readListeners(written: Written): Pick<Config, 'listen' | 'opsListen' | 'clusterDomain' | 'tls'> {
  const { merged, fault } = written;
  const certFile = writtenPath(written, 'tlsCertFile');
  const keyFile = writtenPath(written, 'tlsPrivateKeyFile');
  if ((certFile === undefined) !== (keyFile === undefined))
    fault('--tls-cert-file', '--tls-cert-file and --tls-private-key-file must be given together');
  const clusterDomain = merged.clusterDomain?.toLowerCase();
  if (clusterDomain !== undefined && !domainForm.test(clusterDomain))
    fault('--cluster-domain', 'must be a DNS name such as clusters.example.com');
  return {
    listen: readAddress('--listen', merged.listen ?? '127.0.0.1:8443', fault),
    opsListen: readAddress('--ops-listen', merged.opsListen ?? '127.0.0.1:8090', fault),
    clusterDomain,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
  };
}

function readAddress(flag: string, value: string, fault: Fault): HostPort {
  const parsed = parseHostPort(value);
  if (parsed === undefined) fault(flag, `"${value}" is not HOST:PORT, for example 127.0.0.1:8443`);
  return parsed ?? { host: '127.0.0.1', port: 0 };
}
