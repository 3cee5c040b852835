// The files that belong to a database URL: certificates, keys and the password. They may be renewed while this process
// runs, so they are read for each connection. A renewal that is not finished must end nothing that works: while the
// files of certificates cannot be used, new connections use what they held before.
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';

import { GatewayError } from '../../../model/errors.ts';
import { databaseError } from './errors.ts';

/** Paths by the names that the parameters have in the URL. */
export interface TlsPaths {
  readonly sslrootcert?: string | undefined;
  readonly sslcert?: string | undefined;
  readonly sslkey?: string | undefined;
}

type TlsTexts = TlsPaths;

interface Loaded {
  readonly texts: TlsTexts;
  readonly context: SecureContext;
}

/**
 * The contents of a file.
 * @throws GatewayError INDEX_UNAVAILABLE (rejects) that names the file
 */
export async function textOf(what: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    return refuse(what, path, `cannot be read: ${(error as Error).message}`, error);
  }
}

/** The certificates and the key of the connections to one database. */
export class TlsFiles {
  readonly #paths: TlsPaths;
  #last: Loaded;
  #fault: string | undefined;

  private constructor(paths: TlsPaths, last: Loaded) {
    this.#paths = paths;
    this.#last = last;
  }

  /**
   * Reads the files for the first time.
   * @throws GatewayError INDEX_UNAVAILABLE (rejects) when one cannot be used; the message says which
   */
  static async open(paths: TlsPaths): Promise<TlsFiles> {
    return new TlsFiles(paths, await load(paths));
  }

  /** Why the files could not be used when they were last read; undefined when they could be. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Reads the files. @returns what they hold, or what they held when they could last be used */
  async context(): Promise<SecureContext> {
    try {
      this.#last = await load(this.#paths, this.#last);
      this.#fault = undefined;
    } catch (error) {
      this.#fault = (error as Error).message;
    }
    return this.#last.context;
  }
}

/**
 * Reads the files and makes TLS settings of them. @param last the settings made before; returned when the files have
 * not changed
 */
async function load(paths: TlsPaths, last?: Loaded): Promise<Loaded> {
  const [sslrootcert, sslcert, sslkey] = await Promise.all(
    (['sslrootcert', 'sslcert', 'sslkey'] as const).map(async (what) => {
      const path = paths[what];
      return path === undefined ? undefined : await textOf(what, path);
    }),
  );
  const texts = { sslrootcert, sslcert, sslkey };
  const { texts: before } = last ?? {};
  if (before?.sslrootcert === sslrootcert && before?.sslcert === sslcert && before?.sslkey === sslkey && last) {
    return last;
  }
  check(paths, texts);
  try {
    return { texts, context: createSecureContext({ ca: sslrootcert, cert: sslcert, key: sslkey }) };
  } catch (error) {
    throw databaseError(error);
  }
}

/**
 * Refuses files that are only half written, and a key that does not belong to the certificate. Node would use a
 * half-written file: it takes an empty file for no file, and leaves out a certificate that ends in the middle.
 */
function check(paths: TlsPaths, { sslrootcert, sslcert, sslkey }: TlsTexts): void {
  if (sslrootcert !== undefined) certificatesOf('sslrootcert', paths.sslrootcert!, sslrootcert);
  if (sslcert === undefined || sslkey === undefined) return;
  const [own] = certificatesOf('sslcert', paths.sslcert!, sslcert);
  if (!own!.checkPrivateKey(keyOf(paths.sslkey!, sslkey))) {
    refuse(
      'sslkey',
      paths.sslkey!,
      `is not the key of the certificate in ${paths.sslcert}: put both of one pair there`,
    );
  }
}

function certificatesOf(what: string, path: string, text: string): X509Certificate[] {
  const begun = text.match(/-----BEGIN [\w ]*CERTIFICATE-----/g) ?? [];
  const whole = text.match(/-----BEGIN [\w ]*CERTIFICATE-----[^-]*-----END [\w ]*CERTIFICATE-----/g) ?? [];
  try {
    if (whole.length > 0 && whole.length === begun.length) return whole.map((one) => new X509Certificate(one));
  } catch {
    // Certificates that cannot be parsed are refused below, with the same message.
  }
  return refuse(what, path, 'does not hold whole certificates in PEM: write it anew');
}

function keyOf(path: string, text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    return refuse('sslkey', path, 'does not hold a private key in PEM that is not encrypted: write it anew');
  }
}

function refuse(what: string, path: string, fault: string, cause?: unknown): never {
  const message = `the ${what} file ${path} of the index's database ${fault}`;
  throw new GatewayError('INDEX_UNAVAILABLE', message, { cause });
}
