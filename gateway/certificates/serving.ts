// The certificate that the listener shows: from the operator's files, which are watched for changes, or signed by the
// gateway's own CA. The operator's certificate and key change on disk one after the other. While the two do not match,
// the listener keeps the previous pair.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import type { Config } from '../../config/configuration.ts';
import type { Reloading } from '../../config/reloading.ts';
import { issueServingCertificate, loadAuthority } from './serving-certificate.ts';

/**
 * Milliseconds after which a certificate of the gateway's own CA is replaced: 20 days. A Node timer cannot be longer
 * than 24.8 days.
 */
const reissueIntervalMs = 20 * 24 * 60 * 60 * 1000;

/** Certificate and private key as PEM. */
export interface ServingPair {
  readonly cert: string;
  readonly key: string;
}

/** The certificate that the listener shows to clients. */
export interface Serving {
  /**
   * File with the CA certificate that clients must trust. Undefined when there is no such file: the operator gave a
   * certificate, or replicas share one through the hub.
   */
  readonly caFile: string | undefined;
  /** The certificates of the CAs that clients must trust, in PEM; undefined when the operator gave a certificate. */
  caBundle(): string | undefined;
  current(): ServingPair;
  onChange(listener: () => void): void;
  close(): void;
}

/**
 * Loads the operator's certificate and watches it for changes; without one, signs a certificate with the gateway's own
 * CA and replaces it every 20 days.
 * @throws ConfigurationError (rejects) when the certificate or CA cannot be used
 */
export async function startServingCertificate(config: Config, reloading: Reloading): Promise<Serving> {
  let listener: (() => void) | undefined;
  const onChange = (next: () => void): void => void (listener = next);
  if (config.tls !== undefined) {
    let pair = { cert: '', key: '' };
    await reloading.add([config.tls.certFile, config.tls.keyFile], (cert = '', key = '') => {
      checkKeyPair(cert, key, config.tls!.certFile);
      pair = { cert, key };
      listener?.();
    });
    return { caFile: undefined, caBundle: () => undefined, current: () => pair, onChange, close: () => undefined };
  }
  const authority = await loadAuthority(config.dataDir);
  let pair = await issueServingCertificate(authority, config.listen.host, config.clusterDomain);
  const timer = setInterval(() => {
    void issueServingCertificate(authority, config.listen.host, config.clusterDomain).then((next) => {
      pair = next;
      listener?.();
    });
  }, reissueIntervalMs);
  timer.unref();
  return {
    caFile: join(config.dataDir, 'ca.crt'),
    caBundle: () => authority.cert,
    current: () => pair,
    onChange,
    close: () => clearInterval(timer),
  };
}

function checkKeyPair(cert: string, key: string, file: string): void {
  try {
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return;
  } catch {
    throw new ConfigurationError([{ file, message: 'certificate or private key is not valid PEM' }]);
  }
  throw new ConfigurationError([{ file, message: 'the private key does not belong to the certificate' }]);
}
