import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import type { TestContext } from 'node:test';

import { allOf } from '../../query/list-query.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import { rowsOfChunk } from './read/bodies.ts';
import { batchOf, crashIncarnation, crashType, namesAfter } from './crash.fixture.ts';
import { checkpoint } from './write/checkpoint.ts';
import { defaultLogLimits } from './write/change-log.ts';
import { openIndexFile, type IndexFile } from './write/file.ts';
import { packBatch } from './tables/messages.ts';
import { openReader } from './read/reader.ts';
import { metaKey } from './tables/schema.ts';
import { openSqliteStore } from './store.ts';
import { Writer } from './write/writer.ts';

/**
 * How many places each log is cut and flipped at. `all`: at every byte, of logs of two or three commits with pages of
 * 512 bytes, which hold every kind of record in a fiftieth of the bytes, in memory where the system has a folder for
 * it; two to four minutes of CPU a test. `all 1/4`: at the bytes of the first quarter, so that several processes can
 * share them.
 */
const cuts = process.env.PORTCULLIS_STORE_CUTS ?? '4';
const [isAll, part = '1', parts = '1'] = /^all(?: (\d+)\/(\d+))?$/.exec(cuts) ?? [];
const memory = '/dev/shm';
const root = mkdtempSync(join(isAll !== undefined && existsSync(memory) ? memory : tmpdir(), 'portcullis-crash-'));
const startUs = Date.now() * 1000;
let passedUs = 0;
const nowUs = (): number => startUs + (passedUs += 1);
const scope: RowScope = { digest: '', grants: new Map([[crashIncarnation.id, new Map([['pods.', 'all']])]]) };

after(() => rmSync(root, { recursive: true }));

interface Opened {
  readonly index: IndexFile;
  readonly said: readonly string[];
}

function open(directory: string, now = nowUs): Opened {
  const said: string[] = [];
  const onSetAside = (message: string): void => void said.push(message);
  return { index: openIndexFile({ directory, pathsDigest: '', cacheBytes: 1 << 20, nowUs: now, onSetAside }), said };
}

/** An index to be crashed. */
interface Crashing {
  readonly directory: string;
  readonly index: IndexFile;
  readonly writer: Writer;
  /** Last of its steps, none of which is in the log. */
  readonly step: number;
}

function openNew(name: string): Crashing {
  const directory = join(root, name);
  mkdirSync(directory);
  if (isAll !== undefined) {
    // The size of pages is decided with the first one.
    const db = new DatabaseSync(join(directory, 'index.db'));
    db.exec('PRAGMA page_size = 512; CREATE TABLE first (id); DROP TABLE first');
    db.close();
  }
  const opened = open(directory);
  const writer = writerOf(opened);
  const step = isAll === undefined ? 0 : 3;
  write(writer, 1, step);
  if (isAll !== undefined) checkpoint(opened.index.db, opened.index.file);
  return { directory, index: opened.index, writer, step };
}

/** How many commits a part of a log has. */
function commits(usual: number, ofAll = 1): number {
  return isAll === undefined ? usual : ofAll;
}

function writerOf({ index }: Opened): Writer {
  const options = {
    log: defaultLogLimits,
    maxBytes: undefined,
    nowUs,
    onStopped: () => undefined,
    onTrouble: assert.fail,
  };
  return new Writer(index.db, index.file, options);
}

function write(writer: Writer, from: number, to: number): void {
  for (let step = from; step <= to; step++) {
    const [result] = writer.apply([packBatch(batchOf(step))]);
    assert.ok(result !== undefined && 'commit' in result);
  }
}

type Files = ReadonlyMap<string, Uint8Array>;

/** The files as a crash leaves them. */
function filesIn(directory: string): Files {
  const names = ['index.db', 'index.db-wal', 'index.db-checkpoint'].filter((name) => existsSync(join(directory, name)));
  return new Map(names.map((name) => [name, readFileSync(join(directory, name))]));
}

function folderOf(files: Files, name: string): string {
  const directory = join(root, name);
  mkdirSync(directory);
  for (const [file, bytes] of files) writeFileSync(join(directory, file), bytes);
  return directory;
}

/** Of every page as this connection sees it; what is made anew differs in its id only. */
function digestOf(db: DatabaseSync): string {
  const pages = Buffer.from(db.serialize());
  const id = Buffer.from(String(db.prepare(`SELECT value FROM meta WHERE key = '${metaKey.store}'`).get()!.value));
  const at = pages.indexOf(id);
  assert.ok(at > 0);
  return createHash('sha1')
    .update(pages.fill(0, at, at + id.length))
    .digest('hex');
}

/**
 * Opens a directory and checks that it is the state after some step, whole in every table.
 * @param known steps of states that were checked before, by the digest of their pages
 * @returns the step
 */
async function checkPrefix(
  directory: string,
  known = new Map<string, number>(),
): Promise<{ readonly step: number; readonly said: readonly string[] }> {
  const opened = open(directory, () => startUs);
  const { db, file } = opened.index;
  const digest = digestOf(db);
  const before = known.get(digest);
  if (before !== undefined) {
    // The last to close copies the log, which would take most of the time and is not tested here.
    const last = new DatabaseSync(file, { readOnly: true });
    last.prepare('SELECT count(*) FROM meta').get();
    db.close();
    opened.index.close();
    last.close();
    return { step: before, said: opened.said };
  }
  assert.equal(db.prepare('PRAGMA integrity_check').get()!.integrity_check, 'ok');
  const reader = openReader(file, 1 << 20);
  try {
    const [followed] = reader.operations.types();
    const step = Number(followed?.position.resourceVersion ?? 0);
    const sent = { number: 1, grants: scope.grants, dropped: [] };
    const names = namesAfter(step);
    const { names: stored } = reader.operations.versions({ incarnation: crashIncarnation.id, type: crashType });
    assert.deepEqual(stored.toSorted(), names.toSorted());
    assert.equal((await reader.operations.count({ query: allOf(crashType), scope: sent })).found, names.length);
    const last = { ...allOf(crashType), labels: [{ key: 'step', operator: 'In', values: [String(step)] }] } as const;
    assert.equal((await reader.operations.count({ query: last, scope: sent })).found, step === 0 ? 0 : 2);
    const page = await reader.operations.list({ query: allOf(crashType), scope: sent, page: {} });
    assert.equal(rowsOfChunk(page.first).length, names.length);
    known.set(digest, step);
    return { step, said: opened.said };
  } finally {
    reader.close();
    opened.index.close();
  }
}

function* places(size: number): Iterable<number> {
  if (isAll !== undefined) {
    const [from, to] = [Number(part) - 1, Number(part)].map((each) => Math.floor((size * each) / Number(parts)));
    for (let at = from!; at < to!; at++) yield at;
  } else for (let i = 0; i < Number(cuts); i++) yield Math.floor(Math.random() * size);
}

/** Cuts and flips the log of a crashed index. */
async function damageLog(
  context: TestContext,
  crashed: Files,
  check: (step: number, said: readonly string[]) => void,
): Promise<void> {
  const log = crashed.get('index.db-wal')!;
  const known = new Map<string, number>();
  let tried = 0;
  const tryOut = async (damaged: Uint8Array): Promise<void> => {
    const directory = folderOf(new Map([...crashed, ['index.db-wal', damaged]]), 'damaged');
    const { step, said } = await checkPrefix(directory, known);
    check(step, said);
    tried += 1;
    rmSync(directory, { recursive: true });
  };
  for (const at of places(log.length)) {
    await tryOut(log.subarray(0, at));
    const flipped = Buffer.from(log);
    flipped[at]! ^= 1 << (at % 8);
    await tryOut(flipped);
  }
  context.diagnostic(`${tried} cuts and flips of ${log.length} bytes, ${known.size} different states`);
}

/** A reader that keeps its transaction open. */
function openHolder({ file }: IndexFile): { readonly release: () => void } {
  const db = new DatabaseSync(file, { readOnly: true });
  db.exec('BEGIN');
  db.prepare('SELECT value FROM meta').get();
  return { release: () => db.close() };
}

test('a log cut or flipped anywhere opens as a prefix of commits with their positions', async (context) => {
  const { directory, index, writer, step } = openNew('plain');
  const last = step + commits(6, 2);
  write(writer, step + 1, last);
  const crashed = filesIn(directory);
  index.close();
  assert.equal((await checkPrefix(folderOf(crashed, 'whole'))).step, last);
  await damageLog(context, crashed, (_step, said) => assert.deepEqual(said, []));
});

test('a damaged log of which all is in the file already loses only what came after', async (context) => {
  const { directory, index, writer, step } = openNew('done');
  // More than one, or a log cut between them would not hide newer pages of the file behind older ones of its own.
  const copied = step + commits(4, 2);
  const last = copied + commits(3);
  write(writer, step + 1, copied);
  // A reader of the newest state lets everything be copied, but keeps the log from being emptied.
  const holder = openHolder(index);
  checkpoint(index.db, index.file);
  write(writer, copied + 1, last);
  holder.release();
  const crashed = filesIn(directory);
  index.close();
  assert.match(Buffer.from(crashed.get('index.db-checkpoint')!).toString('utf8'), /done/);
  assert.equal((await checkPrefix(folderOf(crashed, 'done-whole'))).step, last);
  await damageLog(context, crashed, (found, said) => {
    assert.deepEqual(said, []);
    assert.ok(found >= copied);
  });
});

test('a log damaged while it was being copied is noticed, and the index built anew', async (context) => {
  const { directory, index, writer, step } = openNew('begun');
  const seen = step + commits(3);
  const last = seen + commits(3);
  write(writer, step + 1, seen);
  const holder = openHolder(index);
  write(writer, seen + 1, last);
  // Copies only what the reader may see.
  checkpoint(index.db, index.file);
  holder.release();
  const crashed = filesIn(directory);
  index.close();
  assert.match(Buffer.from(crashed.get('index.db-checkpoint')!).toString('utf8'), /begun/);
  assert.equal((await checkPrefix(folderOf(crashed, 'begun-whole'))).step, last);
  await damageLog(context, crashed, (found, said) => {
    assert.equal(found, 0);
    assert.equal(said.length, 1);
  });
});

test('what was committed before SIGKILL is there after it', async () => {
  const directory = join(root, 'killed');
  const child = spawn(process.execPath, [join(import.meta.dirname, 'crash.fixture.ts'), directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let acknowledged = 0;
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    acknowledged = Number(line);
    if (acknowledged === 40) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  assert.equal(child.signalCode, 'SIGKILL');
  const store = await openSqliteStore({ directory, onDamage: assert.fail });
  try {
    const [followed] = await store.types();
    const step = Number(followed!.position.resourceVersion);
    assert.ok(step >= acknowledged);
    const stored = await store.versions(crashIncarnation.id, crashType);
    assert.deepEqual(stored.map(({ name }) => name).toSorted(), namesAfter(step).toSorted());
    assert.equal((await store.count(allOf(crashType), scope)).count, namesAfter(step).length);
  } finally {
    await store.close();
  }
});
