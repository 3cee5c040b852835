// Sends the grants of a scope to each reader thread once, and later only their number, because the grants of a user in
// many clusters are large. Only the grants for the requested types are sent. So a request for other types gets another
// number.
import { LRUCache } from 'lru-cache';

import type { ListQuery } from '../../../query/list-query.ts';
import type { Grant, RowScope } from '../../../query/scope/scope.ts';
import { typeKey, type TypeKey } from '../../../query/types.ts';
import type { Grants } from '../session/extents.ts';
import type { SentScope } from './reader.ts';

interface Known {
  readonly number: number;
  readonly readers: Set<number>;
}

const mostKnown = 256;

export class SentScopes {
  readonly #known: LRUCache<string, Known>;
  readonly #dropped = new Map<number, number[]>();
  #lastNumber = 0;

  constructor() {
    this.#known = new LRUCache({
      max: mostKnown,
      dispose: ({ number, readers }) => {
        for (const reader of readers) this.#dropped.set(reader, [...(this.#dropped.get(reader) ?? []), number]);
      },
    });
  }

  /** Returns what to send to reader thread number `reader` for the scope of a query. */
  send(scope: RowScope, query: ListQuery, reader: number): SentScope {
    // For a query by owner the grants of all types are sent: objects between an owner and what it owns may be of any
    // type.
    const types = query.owner === undefined ? query.types.map(typeKey).toSorted() : undefined;
    const key = JSON.stringify([scope.digest, types]);
    let known = this.#known.get(key);
    if (known === undefined) {
      known = { number: ++this.#lastNumber, readers: new Set() };
      this.#known.set(key, known);
    }
    const grants = known.readers.has(reader) ? undefined : grantsOf(scope, types);
    known.readers.add(reader);
    const dropped = this.#dropped.get(reader) ?? [];
    this.#dropped.delete(reader);
    return { number: known.number, grants, dropped };
  }
}

function grantsOf({ grants }: RowScope, types: readonly TypeKey[] | undefined): Grants {
  if (types === undefined) return grants;
  const some = new Map<string, ReadonlyMap<TypeKey, Grant>>();
  for (const [incarnation, byType] of grants) {
    const found = types.flatMap((type) => {
      const grant = byType.get(type);
      return grant === undefined ? [] : [[type, grant] as const];
    });
    if (found.length > 0) some.set(incarnation, new Map(found));
  }
  return some;
}
