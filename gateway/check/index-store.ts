// Checks the database of the index: whether `serve` could use it, and whether others on the network could read or
// change the data on the connection to it.
import { isThisMachine, serverAddress } from '../../store/postgres/connection/address.ts';
import type { IndexStoreConfig } from '../../config/sections/index-store-config.ts';
import type { CheckOptions, Weakness } from './weakness.ts';

/**
 * Finds weaknesses in the connection to the index's database.
 * @throws GatewayError (rejects) INDEX_UNAVAILABLE, with what keeps `serve` from using the database and what to do
 * about it
 */
export async function indexStoreWeaknesses(store: IndexStoreConfig, options: CheckOptions): Promise<Weakness[]> {
  const { config, name } = await serverAddress(store);
  const { ssl, host = '' } = config;
  if (!options.offline) {
    const { tryMigration } = await import('../../store/postgres/connection/migrate.ts');
    await tryMigration(store);
  }
  const where = `--index-store (${name})`;
  if (typeof ssl === 'object') {
    if (ssl.rejectUnauthorized !== false) return [];
    return [
      {
        name: 'IndexStoreUnverified',
        severity: 'high',
        where,
        what: "the server's certificate is not checked: whoever is on the way can read and change what the index holds",
        fix: 'Use sslmode=verify-full, and sslrootcert for an authority of your own.',
      },
    ];
  }
  if (isThisMachine(host)) return [];
  return [
    {
      name: 'IndexStoreUnencrypted',
      severity: 'high',
      where,
      what: 'the connection has no TLS: whoever is on the way can read and change what the index holds',
      fix: 'Remove sslmode=disable; the default checks the certificate.',
    },
  ];
}
