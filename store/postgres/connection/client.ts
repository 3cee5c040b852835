// Connections of the driver pg that read certificates and keys when they connect. pg takes TLS options when a client is
// made, and only the password by a function; it looks at the options when the server has agreed to TLS.
import type { ConnectionOptions } from 'node:tls';
import { Client, type ClientConfig } from 'pg';

import type { TlsFiles } from './files.ts';

export type ClientClass = new (config?: ClientConfig) => Client;
type Callback = ((error: Error) => void) | ((error: null, client: Client) => void);

/** The class of the connections to a database, which pg's pool uses, too. */
export function clientFor(tls: Pick<TlsFiles, 'context'> | undefined): ClientClass {
  if (tls === undefined) return Client;
  return class RenewedClient extends Client {
    readonly #ssl: ConnectionOptions;

    constructor(config: ClientConfig = {}) {
      const ssl = { ...(config.ssl as ConnectionOptions) };
      // The pool makes the password not enumerable.
      super({ ...config, password: config.password, ssl });
      this.#ssl = ssl;
    }

    override connect(): Promise<Client>;
    override connect(callback: Callback): void;
    override connect(callback?: Callback): Promise<Client> | void {
      if (callback === undefined) return this.#renewed().then(() => super.connect());
      void this.#connect(callback);
    }

    /**
     * Passes the callback on to pg, and does not wait for a promise: the pool's callback adds a listener for errors,
     * and an error may come in the same turn of the event loop.
     */
    async #connect(callback: Callback): Promise<void> {
      try {
        await this.#renewed();
        super.connect(callback);
      } catch (error) {
        (callback as (error: unknown) => void)(error);
      }
    }

    async #renewed(): Promise<void> {
      this.#ssl.secureContext = await tls.context();
    }
  };
}
