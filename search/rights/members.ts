// The registered clusters with what the index holds of each. Records and stored types are compared with those of the
// last look, so that only clusters of which one has changed are decided about anew.
import type { ClusterRecord } from '../../cache/model/records.ts';
import type { ChangeJournal } from './journal.ts';
import type { RightsMirror, StoredIncarnation } from './mirror.ts';

/** A registered cluster. */
export interface Member {
  /** Of now; the spec is the same object for as long as it says the same. */
  readonly record: ClusterRecord;
  /** Empty while the index holds nothing of it, not even RBAC. */
  readonly stored: readonly StoredIncarnation[];
}

interface Seen extends Member {
  readonly form: string;
}

const none: readonly StoredIncarnation[] = Object.freeze([]);

/** See the file comment. */
export class Members {
  readonly #clusters: { list(): readonly ClusterRecord[] };
  readonly #mirror: Pick<RightsMirror, 'stored'>;
  readonly #journal: ChangeJournal;
  #records: readonly ClusterRecord[] = [];
  #stored: ReadonlyMap<string, StoredIncarnation> = new Map();
  #groups: ReadonlyMap<string, readonly StoredIncarnation[]> = new Map();
  #byUid: ReadonlyMap<string, Seen> = new Map();

  constructor(
    clusters: { list(): readonly ClusterRecord[] },
    mirror: Pick<RightsMirror, 'stored'>,
    journal: ChangeJournal,
  ) {
    this.#clusters = clusters;
    this.#mirror = mirror;
    this.#journal = journal;
  }

  /** Of the last {@link refresh}, by the uid of the record. */
  get byUid(): ReadonlyMap<string, Member> {
    return this.#byUid;
  }

  /** Looks again, and puts into the journal what has changed. @throws GatewayError (rejects) as the store does */
  async refresh(): Promise<void> {
    const stored = await this.#mirror.stored();
    const records = this.#clusters.list();
    if (stored === this.#stored && records === this.#records) return;
    if (stored !== this.#stored) this.#groups = groupByRecord(stored);
    const next = new Map<string, Seen>();
    for (const record of records) {
      const { uid } = record.spec;
      const known = this.#byUid.get(uid);
      const incarnations = this.#groups.get(uid) ?? none;
      const form = known?.stored === incarnations ? known.form : formOf(incarnations);
      next.set(uid, { record, stored: incarnations, form });
      if (known?.record.spec !== record.spec || known.form !== form) this.#journal.add({ uid, subjects: undefined });
    }
    for (const uid of this.#byUid.keys()) if (!next.has(uid)) this.#journal.add({ uid, subjects: undefined });
    this.#byUid = next;
    this.#records = records;
    this.#stored = stored;
  }
}

/** What of the stored types decides about rights, as a text. */
function formOf(incarnations: readonly StoredIncarnation[]): string {
  let form = '';
  for (const { incarnation, types } of incarnations) {
    form += `\n${incarnation.id}`;
    for (const [key, { type }] of types) form += ` ${key} ${type.version} ${type.namespaced}`;
  }
  return form;
}

/** The uid of the record that an incarnation belongs to. */
export function recordUidOf(incarnation: string): string {
  return incarnation.slice(0, Math.max(0, incarnation.lastIndexOf('/')));
}

/**
 * Ids of incarnations begin with the uid of the cluster's record, so that a name given to another cluster finds nothing
 * of the old one.
 */
function groupByRecord(
  stored: ReadonlyMap<string, StoredIncarnation>,
): ReadonlyMap<string, readonly StoredIncarnation[]> {
  const groups = new Map<string, StoredIncarnation[]>();
  for (const [id, each] of stored) {
    const uid = recordUidOf(id);
    const group = groups.get(uid);
    if (group === undefined) groups.set(uid, [each]);
    else group.push(each);
  }
  return groups;
}
