// The life of some works, as a random but repeatable sequence of changes, and what hub and cluster have to be after
// each: what the test that kills the executor compares with.
import { createRandom, type Random } from '../../../sim/model/random.ts';
import { configMap, manifestWork } from './works-site.ts';

/** What an object has to be: the work that owns it, and its content. */
export interface ExpectedObject {
  /** Name of the owning work; undefined for one that was orphaned. */
  readonly owner: string | undefined;
  readonly round: string;
}

export interface ExpectedWork {
  readonly objects: readonly string[];
  readonly isOrphaning: boolean;
}

/** One change: the work as it is to be on the hub, or undefined when it is to be deleted. */
export interface Change {
  readonly work: string;
  readonly manifest: object | undefined;
  readonly does: 'create' | 'update' | 'orphan' | 'own' | 'delete';
}

/**
 * No more than three objects of a work come and go, since of more the executor asks a person whether they are to be
 * deleted.
 */
const parts = ['a', 'b', 'c'];

export class WorksLife {
  readonly works = new Map<string, ExpectedWork>();
  readonly objects = new Map<string, ExpectedObject>();
  /** Names of objects that may have been deleted so far. */
  readonly mayGo = new Set<string>();
  readonly #random: Random;
  readonly #names: readonly string[];

  constructor(seed: string, count: number) {
    this.#random = createRandom(seed);
    this.#names = Array.from({ length: count }, (_, index) => `w${index}`);
  }

  random(): number {
    return this.#random.next();
  }

  /** Changes some works, each in one way, so that what follows does not depend on how far the executor came before. */
  round(round: number): readonly Change[] {
    const chosen = this.#random.shuffle(this.#names).slice(0, this.#random.between(2, this.#names.length));
    return chosen.map((name) => this.#change(name, String(round)));
  }

  #change(name: string, round: string): Change {
    const before = this.works.get(name);
    if (before === undefined)
      return this.#write(name, { objects: this.#some(name), isOrphaning: false }, round, 'create');
    const does = this.#random.pick(['update', 'update', 'policy', 'delete'] as const);
    if (does === 'delete') return this.#delete(name);
    if (does === 'update') return this.#write(name, { ...before, objects: this.#some(name) }, round, 'update');
    const isOrphaning = !before.isOrphaning;
    return this.#write(name, { ...before, isOrphaning }, round, isOrphaning ? 'orphan' : 'own');
  }

  #some(name: string): readonly string[] {
    const some = parts.filter(() => this.#random.next() < 0.6);
    return ['always', ...some].map((part) => `${name}-${part}`);
  }

  #write(name: string, work: ExpectedWork, round: string, does: Change['does']): Change {
    for (const object of this.works.get(name)?.objects ?? []) if (!work.objects.includes(object)) this.#leave(object);
    for (const object of work.objects) this.objects.set(object, { owner: work.isOrphaning ? undefined : name, round });
    this.works.set(name, work);
    const deleteOption = { propagationPolicy: work.isOrphaning ? 'Orphan' : 'Foreground' };
    const manifests = work.objects.map((object) => configMap(object, { round }));
    return { work: name, does, manifest: manifestWork(name, manifests, { deleteOption }) };
  }

  #delete(name: string): Change {
    for (const object of this.works.get(name)!.objects) this.#leave(object);
    this.works.delete(name);
    return { work: name, does: 'delete', manifest: undefined };
  }

  /** An object leaves its work: it goes, unless it was orphaned before. */
  #leave(object: string): void {
    if (this.objects.get(object)?.owner === undefined) return;
    this.objects.delete(object);
    this.mayGo.add(object);
  }
}
