// Compares the index over HTTP with Clusterpedia's API server. With SQLite: two clusters with 20,000 pods, and requests
// that are made to be expensive. With PostgreSQL: any number of clusters with all their objects, and a second gateway
// with SQLite; the tables of the index and those of Clusterpedia are on the same PostgreSQL server.
import { estimateRatio, median, verdict } from '../../figures/statistics.ts';
import { clusterName, clusterObjects, objectsPerCluster, perCluster, type GeneratedObject } from '../generator.ts';
import { hostileQuestions, mostHostileCpuMs, type HostileQuestion } from './hostile.ts';
import { httpQuestions, type HttpQuestion } from './questions.ts';
import { startSite, type Site, type Target } from './site.ts';
import { askInTurns, readAll, secondsBetween } from './turns.ts';

type Print = (line: string) => void;

interface Line {
  readonly text: string;
  readonly holds: boolean;
}

const smallMembers = ['east', 'west'] as const;
const generatedPerMember = 4;

/**
 * Compares a gateway whose index is in SQLite with Clusterpedia's API server.
 * @returns a line of text for each request for which a limit does not hold
 */
export async function benchHttp(directory: string, rounds: number, print: Print): Promise<readonly string[]> {
  const shape = { members: smallMembers, generatedPerMember, resources: ['pods'], stores: ['sqlite'] } as const;
  const site = await startSite(directory, shape, print);
  try {
    const lines: Line[] = [];
    const note = (line: Line): void => {
      print(line.text);
      lines.push(line);
    };
    const ours = site.gateways.get('sqlite')!;
    for (const question of httpQuestions({ ...samplePod(), cluster: smallMembers[0] }, 'all')) {
      note(await compare(site, ours, question, rounds));
    }
    for (const question of hostileQuestions) note(await spendOn(site, ours, question));
    return lines.filter(({ holds }) => !holds).map(({ text }) => text);
  } finally {
    await site.close();
  }
}

/**
 * Upper limit for the CPU time of this checkout's gateway divided by that of another checkout's. 5 % more is allowed,
 * which is as much as the figures vary on a machine with other work.
 */
const mostCpuOfOther = 1.05;

/**
 * Compares the CPU time of this checkout's gateway with that of another checkout's gateway, both with SQLite.
 * @param against path of the other checkout, with its npm packages installed
 * @returns a line of text for each request for which the limit does not hold, or for which the interval is too wide to
 * tell
 */
export async function benchHttpAgainst(
  directory: string,
  against: string,
  rounds: number,
  print: Print,
): Promise<readonly string[]> {
  const shape = {
    members: smallMembers,
    generatedPerMember,
    resources: ['pods'],
    stores: ['sqlite'],
    against,
  } as const;
  const site = await startSite(directory, shape, print);
  try {
    const ours = site.gateways.get('sqlite')!;
    const failures: string[] = [];
    for (const question of httpQuestions({ ...samplePod(), cluster: smallMembers[0] }, 'all')) {
      const asked = await askInTurns(site, [ours, site.rival], question, rounds);
      const [mine, theirs] = [asked.get(ours)!, asked.get(site.rival)!];
      const ratio = estimateRatio(mine.cpuMsOfRounds, theirs.cpuMsOfRounds);
      const outcome = mine.rows === theirs.rows ? verdict(ratio, mostCpuOfOther) : 'other rows';
      const [point, low, high] = [ratio.point, ratio.low, ratio.high].map((value) => value.toFixed(2));
      const text = `http ${question.name}: ${mine.rows} rows, ${mine.text}, other ${theirs.text}: CPU ${point} (${low}-${high}) of the other's (wanted ${mostCpuOfOther}): ${outcome}`;
      print(text);
      if (outcome !== 'holds') failures.push(text);
    }
    return failures;
  } finally {
    await site.close();
  }
}

/** Limit in milliseconds for the median time of a page that a gateway reads from PostgreSQL. */
const mostPageMs = 25;
/**
 * Upper limit for the CPU time of a gateway with PostgreSQL, divided by that of a gateway with SQLite for the same
 * request.
 */
const mostCpuTimes = 1.5;

/**
 * Compares a gateway whose index is in PostgreSQL with Clusterpedia's API server, whose tables are on the same
 * PostgreSQL server, and the gateway's CPU time with that of a gateway whose index is in SQLite.
 * @returns a line of text for each request for which a limit does not hold
 */
export async function benchHttpOnPostgres(
  directory: string,
  clusters: number,
  rounds: number,
  print: Print,
): Promise<readonly string[]> {
  const members = Array.from({ length: clusters }, (_, index) => clusterName(index));
  const resources = Object.keys(perCluster) as (keyof typeof perCluster)[];
  const shape = { members, generatedPerMember: 1, resources, stores: ['postgres', 'sqlite'] } as const;
  const site = await startSite(directory, shape, print);
  try {
    print(`${clusters * objectsPerCluster} objects of ${clusters} clusters`);
    const failures: string[] = [];
    for (const question of httpQuestions({ ...samplePod(), cluster: members[0]! }, 'cluster')) {
      const { texts, missed } = await compareStores(site, question, rounds);
      for (const text of texts) print(text);
      failures.push(...missed);
    }
    return failures;
  } finally {
    await site.close();
  }
}

function samplePod(): GeneratedObject {
  return [...clusterObjects(0)].find(({ kind }) => kind === 'Pod')!;
}

async function compare(site: Site, ours: Target, question: HttpQuestion, rounds: number): Promise<Line> {
  const asked = await askInTurns(site, [ours, site.rival], question, rounds);
  const [mine, theirs] = [asked.get(ours)!, asked.get(site.rival)!];
  const ratio = theirs.ms / mine.ms;
  const rows = mine.rows === theirs.rows ? `${mine.rows} rows` : `${mine.rows} rows, the rival ${theirs.rows}`;
  return {
    text: `http ${question.name}: ${rows}, ${mine.text}, rival ${theirs.text}: ${ratio.toFixed(1)} times (wanted ${question.atLeast})`,
    holds: mine.rows === theirs.rows && ratio >= question.atLeast,
  };
}

async function compareStores(
  site: Site,
  question: HttpQuestion,
  rounds: number,
): Promise<{ readonly texts: readonly string[]; readonly missed: readonly string[] }> {
  const [postgres, sqlite] = [site.gateways.get('postgres')!, site.gateways.get('sqlite')!];
  const asked = await askInTurns(site, [postgres, site.rival, sqlite], question, rounds);
  const [mine, theirs, other] = [asked.get(postgres)!, asked.get(site.rival)!, asked.get(sqlite)!];
  const ratio = theirs.ms / mine.ms;
  const cpuTimes = mine.cpuMs / other.cpuMs;
  const rows = new Set([mine.rows, theirs.rows, other.rows]);
  const name = `http ${question.name}`;
  const checked: readonly (readonly [holds: boolean, text: string])[] = [
    [rows.size === 1, `${name}: ${[...rows].join(', ')} rows`],
    [
      ratio >= question.atLeast,
      `${name}: ${mine.text}, rival ${theirs.text}: ${ratio.toFixed(1)} times (wanted ${question.atLeast})`,
    ],
    [
      cpuTimes <= mostCpuTimes,
      `${name}: CPU of the gateway ${cpuTimes.toFixed(2)} times that with SQLite, ${other.text} (wanted ${mostCpuTimes})`,
    ],
    ...(question.isPage
      ? [[mine.ms <= mostPageMs, `${name}: ${mine.ms.toFixed(2)} ms (wanted ${mostPageMs})`] as const]
      : []),
  ];
  return {
    texts: checked.slice(0, 3).map(([, text]) => text),
    missed: checked.filter(([holds]) => !holds).map(([, text]) => text),
  };
}

const hostileRuns = 9;

/**
 * Measures the gateway's CPU time for an expensive request, as the median of several runs. The time includes what the
 * gateway does at the same moment for other reasons.
 */
async function spendOn({ askHostile }: Site, ours: Target, question: HostileQuestion): Promise<Line> {
  const spent: number[] = [];
  let status = 0;
  for (let run = 0; run < hostileRuns; run++) {
    const before = readAll(ours);
    status = await askHostile(ours.port, question);
    spent.push(1000 * secondsBetween(before, readAll(ours)));
  }
  const cpuMs = median(spent);
  const text = `http hostile, ${question.name}: ${status}, CPU ${cpuMs.toFixed(1)} ms (wanted ${mostHostileCpuMs})`;
  return { text, holds: cpuMs <= mostHostileCpuMs && status < 500 };
}
