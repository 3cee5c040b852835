// How much of the objects' bodies one question may read for a path that no index has: what costs more than a reader can spend is refused, with what to do
// instead. Easy to get wrong: an answer made of some of the rows would look whole, so there is none.
import { GatewayError } from '../../../cache/errors.ts';
import { typeKey, type ResourceType } from '../../types.ts';
import { indexedPaths } from '../indexed-paths.ts';

/** With 5 KiB each, 20 to 50 ms of CPU, as the machine is. */
export const mostBodies = 1500;
export const mostBodyBytes = 8 << 20;

export class BodyBudget {
  readonly #path: string;
  readonly #types: readonly ResourceType[];
  #bodies = 0;
  #bytes = 0;

  /** @param path as people write it */
  constructor(path: string, types: readonly ResourceType[]) {
    this.#path = path;
    this.#types = types;
  }

  /** Before rows are read: as many as it is sure there are. @throws GatewayError BAD_REQUEST when they are too many */
  expect(rows: number): void {
    if (this.#bodies + rows > mostBodies) this.#refuse();
  }

  /** @throws GatewayError BAD_REQUEST when it is one too many */
  read(bytes: number): void {
    this.#bodies++;
    this.#bytes += bytes;
    if (this.#bodies > mostBodies || this.#bytes > mostBodyBytes) this.#refuse();
  }

  #refuse(): never {
    const indexed = this.#types.map((type) => {
      const paths = indexedPaths(type);
      return `${typeKey(type)}: ${paths.length === 0 ? 'none' : paths.join(', ')}`;
    });
    const message = `"${this.#path}" is not indexed, so that each object has to be read, and there are more than ${mostBodies} of them or ${mostBodyBytes >> 20} MiB: narrow the query by cluster, namespace, name or label, or ask for a label or an indexed path (${indexed.join('; ')})`;
    throw new GatewayError('BAD_REQUEST', message);
  }
}
