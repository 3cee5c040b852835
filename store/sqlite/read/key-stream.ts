// All rows of a question in order. It merges the sorted rows of each type, and reads bodies (the JSON of objects) where
// a condition needs them. The rows of a type come from a scan: an iterator that reads rows in order, but only inside a
// transaction. After a pause the scan continues in the next transaction.
import type { SlotRow } from '../tables/catalog.ts';
import type { Matcher } from '../../../query/match.ts';
import { printPath } from '../../../query/path.ts';
import type { Cursor } from '../../../query/continue.ts';
import type { BodyAllowance } from '../../body-budget.ts';
import type { Wanted } from '../../page-keys.ts';
import type { KeyRow, RowOrder } from '../../row-order.ts';
import { incarnationsOf, incarnationScan, isByIncarnation } from '../scans/incarnation-scan.ts';
import { matchKey, readCursor, rowOrder } from '../../row-order.ts';
import { planTypes, type Question, type Session, type TypePlan } from '../session/session.ts';
import { isOrderOfSingles, singlesScan } from '../scans/singles-scan.ts';
import { accessToSingles, cheapestAccess, isOfSingles, type Access } from '../scans/sources.ts';
import { isPassedInMemory } from '../session/created-skip.ts';
import { slotScan } from '../scans/slot-scan.ts';
import { collect, columnScan, sortedScan, scanOf, type Scan } from '../scans/scans.ts';

/**
 * One of the sorted sequences of rows that are merged: a scan over rows of one type, and the rows it has read ahead.
 */
interface MergeInput {
  readonly type: string;
  /**
   * Which rows of the type the scan gives: all, those of complete namespace slots, or the single objects granted by
   * name. `slots` and `singles` occur together, and have no row in common.
   */
  readonly of: 'all' | 'slots' | 'singles';
  scan: Scan;
  rows: readonly SlotRow[];
  at: number;
  isOver: boolean;
  /** The last row that the scan has read. */
  last: SlotRow | undefined;
  spentMs: number;
}

/** How many rows a scan reads ahead at first when conditions must be tested in the bodies (JSON) of its rows. */
const recheckedAtOnce = 64;
/** The CPU time is measured after every 16 bodies that were tested. */
const checkedAtOnce = 16;
/** A smaller offset than this number of rows is skipped by reading the rows one by one. */
const leastSkipped = 20;
/** The most rows that a scan reads ahead at a time. */
const mostReadAhead = 2000;
/** The estimated cost of a scan is multiplied by this, because matching rows are often not spread evenly. */
const unevenness = 20;
/** Cost of a row that is collected and sorted, relative to a row that a scan reads in order. */
const collectCost = 1.5;
/** Cost of one more SQL statement for a cluster, as a number of rows that could be read instead. */
const perIncarnation = 4;
/**
 * When a scan that searches for a part of a name has found no row for this many milliseconds, it is replaced by a scan
 * of all names.
 */
const patienceMs = 20;

export class KeyStream {
  readonly order: RowOrder;
  readonly #question: Question;
  readonly #after: KeyRow | undefined;
  readonly #wanted: number;
  readonly #offset: number;
  /** How many bodies (stored JSON) this question may still read, for all its types together. */
  readonly #allowance: BodyAllowance;
  /** How many rows of the query come before the first row of this stream, as its cursor says. */
  readonly rowsBefore: number;
  #inputs: MergeInput[] | undefined;
  #plans: ReadonlyMap<string, TypePlan> = new Map();
  /** Matchers by type. They are kept to the end, because rows of a type whose plan is gone may have been read ahead. */
  readonly #rechecks = new Map<string, Matcher>();
  #given = 0;
  #readAhead: number;
  #checked = 0;
  /**
   * CPU time of this thread in microseconds: used in earlier transactions, at the start of this one, and at present.
   */
  readonly #cpu = { beforeUs: 0, fromUs: 0, untilUs: 0 };
  #last: SlotRow | undefined;
  #isCut = false;

  /**
   * @param allowance the budget of bodies, and what happens when it is used up: the stream ends early, or the question
   *   is refused. A question that is sorted by paths is always refused, because its first row is known only after all
   *   bodies were read
   */
  constructor(question: Question, cursor: Cursor | undefined, { offset, limit }: Wanted, allowance: BodyAllowance) {
    this.#question = question;
    this.#allowance = allowance;
    this.order = rowOrder(question.query);
    const start = cursor === undefined ? undefined : readCursor(this.order, cursor);
    this.#after = start?.row;
    this.rowsBefore = start?.rowsUpTo ?? 0;
    this.#offset = offset;
    allowance.budget.isFor(this.order.paths.map(printPath));
    // No database index has the order of resourceVersions, so each step reads all rows. Many of them are then kept.
    this.#readAhead = scanOf(this.order) === 'rv' ? mostReadAhead : recheckedAtOnce;
    this.#wanted = limit === undefined ? Number.POSITIVE_INFINITY : offset + limit + 1;
  }

  /** To be called at the start of each transaction: compiles the question for it. */
  enter(session: Session): void {
    this.#plans = new Map(planTypes(session, this.#question).map((plan) => [plan.type, plan]));
    for (const { type, conditions } of this.#plans.values()) {
      this.#allowance.budget.isFor(conditions.rechecked);
      if (conditions.recheck !== undefined) this.#rechecks.set(type, conditions.recheck);
    }
    const cpu = this.#cpu;
    cpu.beforeUs += cpu.untilUs - cpu.fromUs;
    cpu.fromUs = cpu.untilUs = this.#rechecks.size > 0 ? threadCpuUs() : 0;
    this.#inputs ??= [...this.#plans.values()].flatMap((plan) => this.#inputsOf(session, plan));
  }

  /**
   * Skips rows where that is cheaper than reading them. To be called before the first row is read.
   * @returns how many rows were skipped, between 0 and `count`
   */
  skip(session: Session, count: number): number {
    const [input, ...others] = this.#inputs!;
    const plan = input && this.#plans.get(input.type);
    if (plan === undefined || others.length > 0 || plan.conditions.recheck !== undefined) return 0;
    if (this.#after !== undefined || count < leastSkipped) return 0;
    const skipped = input!.scan.skip?.(session, plan, count) ?? 0;
    this.#given += skipped;
    return skipped;
  }

  /** The last row that was examined when the stream has ended early because its budget was used up; else undefined. */
  get cutAt(): SlotRow | undefined {
    return this.#isCut ? this.#last : undefined;
  }

  /**
   * The next rows, in order; undefined at the end. An empty list means that none of the rows just read has matched, but
   * there may be more.
   */
  next(session: Session): readonly SlotRow[] | undefined {
    if (this.#isCut) return undefined;
    // When rows are sorted by paths, conditions on their bodies were already tested while the bodies were read for
    // sorting.
    const isRechecked = this.#rechecks.size > 0 && this.order.paths.length === 0;
    const wanted = Math.max(1, this.#wanted - this.#given);
    const rows = isRechecked
      ? this.#merged(session, Math.min(recheckedAtOnce, wanted), this.#readAhead)
      : this.#merged(session, Math.min(mostReadAhead, wanted), Math.min(mostReadAhead, wanted));
    if (rows === undefined) return undefined;
    const kept = isRechecked ? this.#matching(session, rows) : rows;
    this.#given += kept.length;
    return kept;
  }

  /** Keeps the rows whose body matches. Stops when the budget is used up. */
  #matching(session: Session, rows: readonly SlotRow[]): readonly SlotRow[] {
    const { budget, over } = this.#allowance;
    // Reads more rows ahead each time, because one step of a scan may cost as much as reading many rows.
    this.#readAhead = Math.min(this.#readAhead * 4, mostReadAhead);
    if (over !== undefined) this.#readAhead = Math.max(recheckedAtOnce, Math.min(this.#readAhead, budget.left));
    const kept: SlotRow[] = [];
    for (const row of rows) {
      const recheck = this.#rechecks.get(row.type);
      if (recheck !== undefined && over !== undefined && (budget.isSpent || (over === 'end' && this.#isLate()))) {
        this.#isCut = true;
        break;
      }
      if (recheck === undefined || this.#holds(session, row, recheck)) kept.push(row);
      this.#last = row;
    }
    return kept;
  }

  #isLate(): boolean {
    if (++this.#checked % checkedAtOnce !== 0) return false;
    const cpu = this.#cpu;
    cpu.untilUs = threadCpuUs();
    return this.#allowance.budget.isLate((cpu.beforeUs + cpu.untilUs - cpu.fromUs) / 1000);
  }

  #holds({ sql }: Session, row: SlotRow, recheck: Matcher): boolean {
    const body = sql.first<[Uint8Array]>('SELECT raw FROM body WHERE id = ?', [row.id]);
    if (body === undefined) return false;
    this.#allowance.budget.spend(body[0].byteLength);
    return recheck(body[0], matchKey(row));
  }

  /**
   * Takes the next rows of all inputs in order; undefined at the end. Returns fewer rows than wanted, or none, when a
   * scan has found no row for some time, so that other questions are not held up by conditions that few rows satisfy.
   * @param readAhead how many rows a scan reads when it has none left
   */
  #merged(session: Session, want: number, readAhead: number): readonly SlotRow[] | undefined {
    const inputs = this.#inputs!;
    const rows: SlotRow[] = [];
    while (rows.length < want) {
      let best: MergeInput | undefined;
      for (const input of inputs) {
        this.#fill(session, input, readAhead);
        if (input.isOver && input.at >= input.rows.length) continue;
        if (input.at >= input.rows.length) return rows;
        if (best === undefined || this.order.compare(input.rows[input.at]!, best.rows[best.at]!) < 0) best = input;
      }
      if (best === undefined) return rows.length === 0 ? undefined : rows;
      rows.push(best.rows[best.at++]!);
    }
    return rows;
  }

  /** Has the scan of an input read more rows once, when all rows that it had read ahead are used. */
  #fill(session: Session, input: MergeInput, want: number): void {
    if (input.at < input.rows.length || input.isOver) return;
    const plan = this.#plans.get(input.type);
    const startedMs = performance.now();
    const rows = plan === undefined ? undefined : input.scan.next(session, plan, want);
    input.spentMs += performance.now() - startedMs;
    input.isOver = rows === undefined;
    input.rows = rows ?? [];
    input.at = 0;
    input.last = rows?.at(-1) ?? input.last;
    if (rows?.length === 0 && input.spentMs > patienceMs && input.of !== 'singles' && plan?.conditions.scansNames)
      this.#giveUp(session, input, plan);
  }

  #giveUp(session: Session, input: MergeInput, plan: TypePlan): void {
    const access = cheapestAccess(plan, this.#question.query);
    const rows = collect(session, plan, access, this.order, input.last ?? this.#after);
    const singles = input.of === 'all' ? new Set<number>() : new Set(plan.extent.ids);
    input.scan = sortedScan(rows.filter(({ id }) => !singles.has(id)));
    input.spentMs = Number.NEGATIVE_INFINITY;
  }

  #inputsOf(session: Session, plan: TypePlan): MergeInput[] {
    const { query } = this.#question;
    const access = cheapestAccess(plan, query);
    const kind = scanOf(this.order);
    const budget = this.order.paths.length > 0 ? this.#allowance.budget : undefined;
    const input = (scan: Scan, of: MergeInput['of'] = 'all'): MergeInput => ({
      type: plan.type,
      of,
      scan,
      rows: [],
      at: 0,
      isOver: false,
      last: undefined,
      spentMs: 0,
    });
    // When the query lists names or uids, looking these up may need fewer rows than all objects granted by name.
    const isListed = plan.only !== undefined || (access.cost < plan.extent.rows && !access.isOfPostings);
    if (isOfSingles(plan.extent) && isOrderOfSingles(this.order) && !isListed) {
      return [input(singlesScan(this.order, this.#after))];
    }
    if (kind === undefined || access.cost * collectCost < this.#scanCost(session, plan)) {
      if (!this.#goesByIncarnation(plan, access)) {
        return [input(sortedScan(collect(session, plan, access, this.order, this.#after, budget)))];
      }
      const scan = incarnationScan(this.order, this.#after, access.isOfPostings);
      return [input(scan, 'slots'), ...this.#singles(session, plan, input)];
    }
    if (kind !== 'slots') return [input(columnScan(kind, this.order, this.#after))];
    return [input(slotScan(this.order, this.#after), 'slots'), ...this.#singles(session, plan, input)];
  }

  /** An input for the objects granted by name. A scan over slots does not include them. */
  #singles(session: Session, plan: TypePlan, input: (scan: Scan, of: MergeInput['of']) => MergeInput): MergeInput[] {
    const { rows } = plan.extent.singles;
    if (rows.length === 0) return [];
    if (isOrderOfSingles(this.order)) return [input(singlesScan(this.order, this.#after), 'singles')];
    const sorted = collect(session, plan, accessToSingles(plan, rows), this.order, this.#after);
    return [input(sortedScan(sorted), 'singles')];
  }

  /**
   * Whether there are so many rows that those of the first clusters are likely to fill the page, so that clusters are
   * read one after the other.
   */
  #goesByIncarnation(plan: TypePlan, access: Access): boolean {
    if (!access.isOfPostings && access.isOfExtent !== true) return false;
    if (!isByIncarnation(this.order) || this.#wanted === Number.POSITIVE_INFINITY) return false;
    return access.cost > perIncarnation * (incarnationsOf(plan).length + this.#wanted);
  }

  /** An estimate of the rows that a scan has to read, assuming that matching rows are spread evenly. */
  #scanCost(session: Session, plan: TypePlan): number {
    const { extent, conditions, only } = plan;
    if (only !== undefined) return Number.POSITIVE_INFINITY;
    const share = conditions.best === undefined ? 1 : conditions.best.postings / Math.max(1, extent.typeRows);
    const matching = Math.max(1, Math.min(1, share) * extent.rows);
    // A scan in the order of names, times or versions also reads rows outside of the extent.
    const all = scanOf(this.order) === 'slots' ? extent.rows : extent.typeRows;
    const isPassed = this.#after === undefined && isPassedInMemory(session, plan, this.order, this.#offset);
    const wanted = isPassed ? this.#wanted - this.#offset : this.#wanted;
    const passed = (Math.min(wanted, matching) * all) / matching;
    // Labels often go with certain names and clusters, so at worst all matching rows are at the end.
    return conditions.best === undefined ? passed : Math.min(all, passed * unevenness);
  }
}

function threadCpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
