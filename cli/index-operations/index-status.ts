// Prints the status of an index for people. Security: all texts come from outside, so control characters in them are
// made visible.
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { printable } from '../terminal/failure.ts';
import { printRows } from '../terminal/table.ts';

/**
 * The status of an index as received from the gateway. A field that is missing or has an unexpected type is empty here.
 */
export interface IndexStatus {
  readonly store: JsonObject;
  readonly isWhole: boolean;
  /** The status of each gateway replica that shares the index; undefined for an index in SQLite. */
  readonly replicas: readonly JsonObject[] | undefined;
  readonly clusters: readonly JsonObject[];
}

export function readIndexStatus({ store, whole, replicas, clusters }: JsonObject): IndexStatus {
  const list = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
  return {
    store: isJsonObject(store) ? store : {},
    isWhole: whole === true,
    replicas: replicas === undefined ? undefined : list(replicas),
    clusters: list(clusters),
  };
}

/** Returns a line with name and reason for each cluster that the index does not hold completely. */
export function missingOf({ clusters }: IndexStatus): readonly string[] {
  return clusters
    .filter(({ indexed }) => indexed !== 'Synced')
    .map(({ cluster, message }) => printable(`${String(cluster)}: ${String(message)}`));
}

/** The status as text: a line about the store, then the replicas, then the clusters. */
export function describeIndex(status: IndexStatus): string {
  const { replicas, clusters } = status;
  const sum = clusters.reduce((objects, cluster) => objects + Number(cluster['objects'] ?? 0), 0);
  const synced = clusters.length - missingOf(status).length;
  const lines = [
    `${storeText(status.store)}; ${sum} objects; ${synced} of ${clusters.length} clusters completely in the index`,
    ...(replicas === undefined ? [] : ['', tableOf(replicas, ['name', 'shards', 'clusters'])]),
    '',
    tableOf(clusters, ['cluster', 'indexed', 'objects', 'lagSeconds', ...(replicas === undefined ? [] : ['replica'])]),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function storeText({ kind, name, form, fault, answeredSecondsAgo, logSeconds }: JsonObject): string {
  if (kind !== 'PostgreSQL') return printable(String(kind));
  const answered = `last answered ${Number(answeredSecondsAgo).toFixed(1)} s ago`;
  const log = `log of ${Math.round(Number(logSeconds) / 60)} minutes`;
  const trouble = fault === undefined ? '' : `: ${String(fault)}`;
  return printable(`PostgreSQL ${String(name)}, tables of form ${String(form)}, ${answered}, ${log}${trouble}`);
}

const headings: Readonly<Record<string, string>> = { name: 'replica', lagSeconds: 'lag (s)' };

function tableOf(rows: readonly JsonObject[], columns: readonly string[]): string {
  return printRows(
    columns.map((name) => headings[name] ?? name),
    rows.map((row) => columns.map((name) => String(row[name] ?? ''))),
  );
}
