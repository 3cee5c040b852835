// The registered clusters, each with what the index holds of it. Every refresh compares with the previous one and notes
// in the journal which clusters have changed, so that only the rights in those are decided again.
import { recordUidOf } from '../query/types.ts';
import type { ClusterRecord } from '../model/records.ts';
import type { ChangeJournal } from './journal.ts';
import type { StoredIncarnation, StoredIncarnations } from './stored-incarnations.ts';

/** A registered cluster. */
export interface Member {
  /** The current record. Its `spec` stays the same object while its contents stay the same. */
  readonly record: ClusterRecord;
  /** What the index holds of the cluster; empty while it holds nothing, not even RBAC. */
  readonly stored: readonly StoredIncarnation[];
}

interface Seen extends Member {
  readonly form: string;
}

const none: readonly StoredIncarnation[] = Object.freeze([]);

/** Keeps the list of clusters up to date and reports changed ones to a journal. */
export class Members {
  readonly #clusters: { list(): readonly ClusterRecord[] };
  readonly #index: Pick<StoredIncarnations, 'all'>;
  readonly #journal: ChangeJournal;
  #records: readonly ClusterRecord[] = [];
  #stored: ReadonlyMap<string, StoredIncarnation> = new Map();
  #groups: ReadonlyMap<string, readonly StoredIncarnation[]> = new Map();
  #byUid: ReadonlyMap<string, Seen> = new Map();

  constructor(
    clusters: { list(): readonly ClusterRecord[] },
    index: Pick<StoredIncarnations, 'all'>,
    journal: ChangeJournal,
  ) {
    this.#clusters = clusters;
    this.#index = index;
    this.#journal = journal;
  }

  /** The clusters as of the last {@link refresh}. Keys: the uid of the cluster record. */
  get byUid(): ReadonlyMap<string, Member> {
    return this.#byUid;
  }

  /**
   * Reads the clusters again and writes changed ones to the journal.
   * @throws GatewayError (rejects) when the store cannot be read
   */
  async refresh(): Promise<void> {
    const stored = await this.#index.all();
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

/**
 * The stored types as a text, reduced to what rights depend on. While the text stays the same, nothing has to be
 * decided again.
 */
function formOf(incarnations: readonly StoredIncarnation[]): string {
  let form = '';
  for (const { incarnation, types } of incarnations) {
    form += `\n${incarnation.id}`;
    for (const [key, { type }] of types) form += ` ${key} ${type.version} ${type.namespaced}`;
  }
  return form;
}

/**
 * Groups incarnations by the uid of the cluster record, not by the cluster's name: a name that is given to another
 * cluster must not find the rows of the old one.
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
