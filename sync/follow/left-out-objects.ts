// The objects of one type of one cluster that the index store cannot keep. They are counted, and one is named in a
// warning, so that users do not believe that a list without them is complete.
import { hash } from 'node:crypto';

import type { LeftOut, WriteBatch } from '../../store/store.ts';
import type { ObjectKey } from '../../query/types.ts';
import type { LeftOutState } from '../member/sync-types.ts';
import { keyText } from './batch.ts';

/** Maximum length of a name in an example, in characters; longer names are cut. */
const longestShown = 60;
/** The most objects that are counted. A member may name ever new ones. */
const mostCounted = 100_000;

interface Noted {
  readonly example: string;
  /**
   * The number of the list in which the object was last left out; for an object from a watch event, of the last list
   * before it.
   */
  readonly list: number;
}

export class LeftOutObjects {
  /**
   * The objects that are left out, by a digest of namespace and name. Digests are used because keys may be long, and
   * somebody may create very many such objects.
   */
  readonly #noted = new Map<string, Noted>();
  #list = 0;
  #state: LeftOutState | undefined;

  /** How many objects are left out, at most {@link mostCounted}, and one of them; undefined when there are none. */
  get state(): LeftOutState | undefined {
    return this.#state;
  }

  /** Takes over the result of a commit. @returns whether `state` has changed */
  note({ upserts, deletes }: Pick<WriteBatch, 'upserts' | 'deletes'>, leftOut: readonly LeftOut[] = []): boolean {
    if (this.#noted.size > 0) for (const key of [...upserts, ...deletes]) this.#noted.delete(digestOf(key));
    for (const object of leftOut) {
      const key = digestOf(object);
      if (this.#noted.size < mostCounted || this.#noted.has(key))
        this.#noted.set(key, { example: textOf(object), list: this.#list });
    }
    return this.#update();
  }

  /** To be called before a complete list is read. */
  beginList(): void {
    this.#list += 1;
  }

  /** To be called when a complete list is committed. Forgets objects that were not in it. @returns as `note` */
  endList(): boolean {
    for (const [key, { list }] of this.#noted) if (list !== this.#list) this.#noted.delete(key);
    return this.#update();
  }

  #update(): boolean {
    const before = this.#state;
    const [first] = this.#noted.values();
    if (first === undefined) this.#state = undefined;
    else if (before?.count !== this.#noted.size || before.example !== first.example)
      this.#state = { count: this.#noted.size, example: first.example };
    return this.#state !== before;
  }
}

function digestOf(key: ObjectKey): string {
  return hash('sha256', keyText(key), 'base64');
}

function textOf({ namespace, name, reason }: LeftOut): string {
  const key = namespace === '' ? name : keyText({ namespace, name });
  const shown = key.length <= longestShown ? key : `${key.slice(0, longestShown)}...`;
  return `${shown.toWellFormed()} (${reason})`;
}
