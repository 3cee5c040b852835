// `portcullis works history`: shows the specs of a ManifestWork that were executed. The executor keeps them in an
// annotation of the ManifestWork itself.
import { readHistory, type Revision } from '../../lib/work-history.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { isSecret, maskSecrets } from '../apply/manifests/secret-values.ts';
import { humanDuration } from '../../lib/text/human-duration.ts';
import { Failure } from '../terminal/failure.ts';
import { printRows } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { textOf, type HubWorks, type Work, type WorkName } from './hub-works.ts';
import { manifestKey, manifestsIn } from './work-manifests.ts';
import { writeYaml } from '../../lib/yaml/go-yaml.ts';

export interface HistoryFlags {
  readonly revision?: number;
  readonly output: 'table' | 'json';
}

/**
 * Prints the history, or the spec of one revision.
 * @throws Failure when there is no history or no such revision, or when the hub refuses
 */
export async function showHistory(
  hub: HubWorks,
  name: WorkName,
  flags: HistoryFlags,
  terminal: Terminal,
): Promise<void> {
  const work = await hub.get(name);
  const history = await historyOf(work);
  if (flags.output === 'json') {
    const items = flags.revision === undefined ? history : [revisionIn(history, flags.revision, name)];
    const shown = items.map(({ spec, ...each }) => ({
      ...each,
      ...(spec === undefined ? {} : { spec: masked(spec) }),
    }));
    terminal.print(`${JSON.stringify({ items: shown }, null, 4)}\n`);
    return;
  }
  if (flags.revision !== undefined) {
    terminal.print(writeYaml(masked(specOf(revisionIn(history, flags.revision, name), name))));
    return;
  }
  terminal.print(
    printRows(
      ['revision', 'executed', 'manifests', 'change'],
      history.map((each, index) => [
        `${each.revision}${each.revision === work.metadata.generation ? ' *' : ''}`,
        `${humanDuration(terminal.nowMs() - Date.parse(each.time))} ago`,
        each.spec === undefined ? 'too large to keep' : String(manifestsIn(each.spec).length),
        changeOf(history[index - 1], each),
      ]),
    ),
  );
}

/** Returns the executed revisions of the ManifestWork, oldest first. @throws Failure when there is no history */
export async function historyOf(work: Work): Promise<readonly Revision[]> {
  const name = textOf({ cluster: work.metadata.namespace, name: work.metadata.name });
  const history = await readHistory(work.metadata.annotations ?? {});
  if (history === undefined)
    throw new Failure(
      `the history of ${name} cannot be read`,
      'It begins anew when the work changes next. Somebody has changed its annotation gateway.portcullis.io/history.',
    );
  if (history.length > 0) return history;
  throw new Failure(
    `${name} has no history`,
    'The gateway keeps a history of works that it executes (--execute-works), unless --works-history is 0.',
  );
}

/** Returns a revision from the history. @throws Failure when the history does not have the revision */
export function revisionIn(history: readonly Revision[], wanted: number, name: WorkName): Revision {
  const found = history.find(({ revision }) => revision === wanted);
  if (found !== undefined) return found;
  const there = history.map(({ revision }) => revision).join(', ');
  throw new Failure(`${textOf(name)} has no revision ${wanted}`, `Revisions there: ${there}.`);
}

/** Returns the spec of a revision. @throws Failure when the spec was too large to be kept */
export function specOf({ revision, spec }: Revision, name: WorkName): JsonObject {
  if (spec !== undefined) return spec;
  throw new Failure(
    `the spec of revision ${revision} of ${textOf(name)} was too large to keep`,
    'Apply it again from where it came from.',
  );
}

/**
 * Counts the manifests that a revision added, changed and removed in comparison with the revision before; '' when one
 * of the two specs is not known.
 */
function changeOf(before: Revision | undefined, { spec }: Revision): string {
  if (before?.spec === undefined || spec === undefined) return '';
  const texts = (of: JsonObject): Map<string, string> =>
    new Map(manifestsIn(of).map((manifest) => [manifestKey(manifest), JSON.stringify(manifest)]));
  const [old, now] = [texts(before.spec), texts(spec)];
  const added = [...now.keys()].filter((key) => !old.has(key)).length;
  const removed = [...old.keys()].filter((key) => !now.has(key)).length;
  const changed = [...now].filter(([key, text]) => old.has(key) && old.get(key) !== text).length;
  const parts = [
    [added, 'added'],
    [changed, 'changed'],
    [removed, 'removed'],
  ].flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]));
  return parts.join(', ') || 'settings';
}

/** Returns the spec with `***` in place of the values of Secrets. */
function masked(spec: JsonObject): JsonObject {
  const workload = isJsonObject(spec['workload']) ? spec['workload'] : {};
  const manifests = manifestsIn(spec).map((each) => (isSecret(each) ? maskSecrets(undefined, each)[1] : each));
  return { ...spec, workload: { ...workload, manifests } };
}
