// Decides which replica shall follow which shard. A shard stays with its replica while the load is balanced well
// enough, because each move ends watches at one replica and begins them at another. The order in which replicas are
// considered for a shard depends only on the replica's name and weight and the shard's number (rendezvous hashing), so
// that a new replica takes shards from all others alike. Easy to get wrong: while replicas with two row formats run, as
// in an upgrade, shards may only go to those with the newer format. Otherwise each replica would rewrite in its own
// format what the other one has written.
import { createHash } from 'node:crypto';
import type { Assignment, Situation } from '../../store/leases.ts';

/** The most shards that are taken from living replicas within ten seconds. */
const mostMoves = 4;
/** This many rows, or `changesPerCluster` changes per second, count as much load as the watches of one cluster. */
const rowsPerCluster = 5_000;
const changesPerCluster = 20;
/** A shard is moved only from or to a replica whose load differs from its fair share by more than this fraction. */
const tolerance = 0.1;

/** Decides the owners of all shards. @returns the shards whose owner changes; empty while no replica is ready */
export function assign(situation: Situation): readonly Assignment[] {
  const { replicas } = situation;
  if (replicas.length === 0) return [];
  // When all heartbeats are late, the store is slow, and no replica counts as silent.
  if (replicas.every(({ isSilent }) => isSilent)) {
    return new Plan({ ...situation, replicas: replicas.map((each) => ({ ...each, isSilent: false })) }).made();
  }
  return new Plan(situation).made();
}

interface Replica {
  readonly name: string;
  readonly weight: number;
  readonly form: number;
  readonly known: readonly number[];
  /** True when the replica has missed a heartbeat. It keeps its shards, and gets no new ones. */
  readonly isSilent: boolean;
  /** The load of the replica's shards, counted in clusters: rows and changes are converted with the constants above. */
  load: number;
}

interface Shard {
  readonly shard: number;
  readonly load: number;
  /** The replicas that may own the shard, best first. */
  readonly candidates: readonly Replica[];
  /** The candidates that may be given the shard: those that write rows in the newest format. */
  readonly takers: readonly Replica[];
  /** Name of the replica that was meant to own the shard before this plan; '' for none. */
  readonly before: string;
  readonly isPinned: boolean;
  owner: Replica | undefined;
}

class Plan {
  readonly #replicas: readonly Replica[];
  readonly #shards: readonly Shard[];
  readonly #moves = new Set<Shard>();
  /** The fair load of a replica of weight 1: the total load divided by the total weight. */
  readonly #share: number;
  #left: number;

  constructor({ replicas, shards, lately }: Situation) {
    this.#left = Math.max(0, mostMoves - lately);
    this.#replicas = replicas.map((replica) => ({ ...replica, load: 0 }));
    const byName = new Map(this.#replicas.map((replica) => [replica.name, replica]));
    const heard = replicas.filter(({ isSilent }) => !isSilent);
    this.#shards = shards.map(({ shard, owner: holder, wanted, rows, rate, isPinned = false }) => {
      const clusters = Math.max(...heard.map(({ known }) => known[shard]!));
      const load = clusters + rows / rowsPerCluster + rate / changesPerCluster;
      const meant = byName.get(wanted);
      // A silent replica may never take a shard that it does not hold yet.
      const owner = meant?.isSilent === true && holder !== wanted ? undefined : meant;
      const candidates = this.#candidates(shard, clusters, rows);
      // A replica that knows no cluster of the shard does not follow any of them, so the shard is free.
      const keeps = owner !== undefined && (candidates.includes(owner) || owner.known[shard]! > 0 || owner.isSilent);
      const stays = keeps && candidates.length > 0;
      const newest = Math.max(...candidates.map(({ form }) => form));
      const takers = candidates.filter(({ form }) => form === newest);
      return { shard, load, candidates, takers, before: wanted, isPinned, owner: stays ? owner : undefined };
    });
    for (const { owner, load } of this.#shards) if (owner !== undefined) owner.load += load;
    const load = this.#shards.reduce((sum, each) => sum + each.load, 0);
    this.#share = load / this.#replicas.reduce((sum, { weight }) => sum + weight, 0);
  }

  made(): readonly Assignment[] {
    for (const shard of this.#shards.toSorted((one, other) => other.load - one.load)) {
      if (shard.owner === undefined && shard.candidates.length > 0) this.#give(shard, this.#choose(shard));
    }
    for (const shard of this.#shards) {
      const { owner, candidates } = shard;
      const isElsewhere = owner !== undefined && !owner.isSilent && !candidates.includes(owner);
      if (isElsewhere) this.#move(shard, this.#choose(shard));
    }
    for (let isBetter = true; isBetter && this.#left > 0;) isBetter = this.#balance();
    return this.#shards
      .filter(({ owner, before }) => (owner?.name ?? '') !== before)
      .map((shard) => ({ shard: shard.shard, to: shard.owner?.name ?? '', isMove: this.#moves.has(shard) }));
  }

  /**
   * The replicas with recent heartbeats that know the most clusters of the shard, best first. A shard that only has
   * rows to delete gets all replicas with recent heartbeats.
   */
  #candidates(shard: number, clusters: number, rows: number): readonly Replica[] {
    if (clusters === 0 && rows === 0) return [];
    const scores = new Map(this.#replicas.map((replica) => [replica, score(replica, shard)]));
    return this.#replicas
      .filter(({ known, isSilent }) => !isSilent && known[shard] === clusters)
      .sort((one, other) => scores.get(other)! - scores.get(one)!);
  }

  /** Chooses the first of `takers` that has room for the shard, or else the one with the least load for its weight. */
  #choose({ takers, load }: Shard): Replica {
    const most = (1 + tolerance) * this.#share;
    const roomy = takers.find((each) => each.load === 0 || each.load + load <= most * each.weight);
    return roomy ?? takers.toSorted((one, other) => one.load / one.weight - other.load / other.weight)[0]!;
  }

  #give(shard: Shard, to: Replica): void {
    if (shard.owner !== undefined) shard.owner.load -= shard.load;
    shard.owner = to;
    to.load += shard.load;
  }

  #move(shard: Shard, to: Replica): void {
    if (this.#left === 0) return;
    this.#left -= 1;
    this.#moves.add(shard);
    this.#give(shard, to);
  }

  /**
   * Moves one shard from a replica with much load to one that has less load even with that shard.
   * @returns whether a shard was moved
   */
  #balance(): boolean {
    const heard = this.#replicas.filter(({ isSilent }) => !isSilent);
    const fromMost = heard.toSorted((one, other) => other.load / other.weight - one.load / one.weight);
    for (const from of fromMost) {
      const found = this.#shards
        .filter((shard) => shard.owner === from && shard.load > 0 && !shard.isPinned && !this.#moves.has(shard))
        .flatMap((shard) => shard.takers.map((to, rank) => ({ shard, to, rank })))
        .filter(({ shard, to }) => this.#isWorth(shard, from, to))
        .sort((one, other) => one.rank - other.rank || other.shard.load - one.shard.load)[0];
      if (found === undefined) continue;
      this.#move(found.shard, found.to);
      return true;
    }
    return false;
  }

  #isWorth({ load }: Shard, from: Replica, to: Replica): boolean {
    if (to === from || (to.load + load) / to.weight >= from.load / from.weight) return false;
    const hasMuch = from.load / from.weight > this.#share * (1 + tolerance);
    return hasMuch || to.load / to.weight < this.#share * (1 - tolerance);
  }
}

/** Weighted rendezvous hashing: the replica with the highest score is the first candidate for the shard. */
function score({ name, weight }: { readonly name: string; readonly weight: number }, shard: number): number {
  const digest = createHash('sha256').update(`${name}\0${shard}`).digest();
  return -weight / Math.log((digest.readUIntBE(0, 6) + 1) / (2 ** 48 + 1));
}
