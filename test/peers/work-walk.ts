// A random walk over works: in each round several works and objects change, in ways that people and other controllers
// change them. The same seed gives the same walk.
import { createRandom } from '../../bench/figures/statistics.ts';
import { patch, read, remove, type Json } from '../e2e/distribute/works-site.ts';
import { matrixConfigs, matrixKinds, matrixObject, matrixPath, matrixStrategies, stateCount } from './work-matrix.ts';
import type { MatrixKind } from './work-matrix.ts';
import type { Side } from './work-picture.ts';
import { without, work, type Step } from './work-steps.ts';

/** An object of a work, in one of the states of its kind. */
interface Placed {
  readonly kind: MatrixKind;
  readonly name: string;
  readonly state: number;
}

/** A work as it is now. */
interface Walked {
  readonly name: string;
  readonly strategy: string;
  placed: readonly Placed[];
  /** Objects that stand once more at the end, in another state. */
  repeated: readonly Placed[];
  isOrphaning: boolean;
  exists: boolean;
}

const objectsAtStart = 12;
const mostObjects = 20;
const namesOfKind = ['a', 'b'];

export class WorkWalk {
  readonly #random: () => number;
  readonly #walked: readonly Walked[];
  /** How many changes were made. */
  changes = 0;

  constructor(seed: number) {
    this.#random = createRandom(seed);
    this.#walked = Object.keys(matrixStrategies).map((strategy) => ({
      ...{ name: `walk-${strategy.toLowerCase()}`, strategy, repeated: [], isOrphaning: false, exists: true },
      placed: this.#shuffled(this.#allOf(strategy)).slice(0, objectsAtStart),
    }));
  }

  get works(): readonly string[] {
    return this.#walked.map(({ name }) => name);
  }

  get objects(): readonly string[] {
    return this.#walked.flatMap(({ strategy }) => this.#allOf(strategy).map(pathOf));
  }

  /** What clusters have before the walk: all that a work only reads. */
  get found(): readonly Json[] {
    return this.#allOf('ReadOnly').map(manifestOf);
  }

  /** All works as they are at the start. */
  start(): Step {
    const steps = this.#walked.map((walked) => this.#given(walked));
    return { act: (side) => inOrder(steps, side) };
  }

  /** Changes of all works, and before them some of other people to objects of those works. */
  round(): Step {
    const foreign: Step[] = [];
    const own: Step[] = [];
    for (const walked of this.#walked) {
      const said: string[] = [];
      const existed = walked.exists;
      const removed = this.#changeByOthers(walked, said);
      if (removed !== undefined) foreign.push(removed);
      const count = 4 + Math.floor(this.#random() * 4);
      for (let i = 0; i < count; i++) this.#change(walked, said);
      this.changes += count + (removed === undefined ? 0 : 1);
      // A work that was made again and deleted in one round was never there.
      const step = walked.exists ? this.#given(walked) : existed ? without(walked.name) : nothing;
      own.push({ ...step, says: `${walked.name}: ${said.join(', ')}` });
    }
    const steps = [...foreign, ...own];
    return { act: (side) => inOrder(steps, side), says: own.map(({ says }) => says).join('; ') };
  }

  #change(walked: Walked, said: string[]): void {
    const { placed, strategy } = walked;
    if (!walked.exists) {
      walked.exists = true;
      said.push('is made again');
      return;
    }
    const at = Math.floor(this.#random() * placed.length);
    const one = placed[at]!;
    const pick = this.#random();
    if (pick < 0.45) {
      const state = this.#stateOf(one.kind);
      walked.placed = placed.with(at, { ...one, state });
      said.push(`${one.name} in state ${state}`);
    } else if (pick < 0.6 && placed.length < mostObjects) {
      const names = new Set(placed.map(keyOf));
      const other = this.#shuffled(this.#allOf(strategy)).find((each) => !names.has(keyOf(each)))!;
      walked.placed = [...placed, { ...other, state: this.#stateOf(other.kind) }];
      said.push(`with ${keyOf(other)}`);
    } else if (pick < 0.7 && placed.length > objectsAtStart / 2) {
      walked.placed = placed.toSpliced(at, 1);
      walked.repeated = walked.repeated.filter((each) => keyOf(each) !== keyOf(one));
      said.push(`without ${keyOf(one)}`);
    } else if (pick < 0.8) {
      walked.placed = this.#shuffled(placed);
      said.push('in another order');
    } else if (pick < 0.88) {
      walked.repeated = walked.repeated.length > 0 ? [] : [{ ...one, state: this.#stateOf(one.kind) }];
      said.push(walked.repeated.length > 0 ? `${keyOf(one)} twice` : 'nothing twice');
    } else if (pick < 0.96) {
      walked.isOrphaning = !walked.isOrphaning;
      said.push(walked.isOrphaning ? 'orphaning' : 'not orphaning');
    } else {
      walked.exists = false;
      said.push('is deleted');
    }
  }

  /** Somebody else labels or deletes an object; both executors look at all objects of a work that changes. */
  #changeByOthers({ placed, strategy, exists }: Walked, said: string[]): Step | undefined {
    if (!exists || this.#random() < 0.6) return undefined;
    const one = placed[Math.floor(this.#random() * placed.length)]!;
    const path = pathOf(one);
    const isDeleted = strategy !== 'ReadOnly' && this.#random() < 0.4;
    said.push(`${keyOf(one)} ${isDeleted ? 'deleted' : 'labelled'} by others`);
    const body = { metadata: { labels: { theirs: `x${this.changes}` }, annotations: { theirs: 'x' } } };
    return {
      act: async ({ member }) => {
        if ((await read(member, path)) === undefined) return;
        await (isDeleted ? remove(member, path) : patch(member, path, body));
      },
    };
  }

  #given({ name, strategy, placed, repeated, isOrphaning }: Walked): Step {
    const deleteOption = { propagationPolicy: isOrphaning ? 'Orphan' : 'Foreground' };
    const configs = matrixConfigs(matrixStrategies[strategy]);
    return work(name, [...placed, ...repeated].map(manifestOf), { ...configs, deleteOption });
  }

  #allOf(strategy: string): readonly Placed[] {
    return matrixKinds.flatMap((kind) =>
      namesOfKind.map((suffix) => ({ kind, name: `walk-${strategy.toLowerCase()}-${suffix}`, state: 0 })),
    );
  }

  #stateOf({ resource }: MatrixKind): number {
    const state = Math.floor(this.#random() * stateCount);
    // The agent does not write `immutable` into a Secret that is there.
    return resource === 'secrets' && state === 3 ? 4 : state;
  }

  #shuffled<T>(items: readonly T[]): readonly T[] {
    const keyed = items.map((item) => ({ item, key: this.#random() }));
    return keyed.toSorted((one, other) => one.key - other.key).map(({ item }) => item);
  }
}

const nothing: Step = { act: async () => {} };

const keyOf = ({ kind, name }: Placed): string => `${kind.resource}/${name}`;
const pathOf = ({ kind, name }: Placed): string => matrixPath(kind, name);
const manifestOf = ({ kind, name, state }: Placed): Json => matrixObject(kind, name, state);

async function inOrder(steps: readonly Step[], side: Side): Promise<void> {
  for (const { act } of steps) await act(side);
}
