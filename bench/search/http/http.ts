// Compares the index over HTTP with Clusterpedia's API server. With SQLite: two clusters with 20,000 pods, and requests
// that are made to be expensive. With PostgreSQL: any number of clusters with all their objects, a gateway with SQLite
// beside it, and the tables of both indexes on the same PostgreSQL server.
import { median } from '../../figures/statistics.ts';
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

/** Limit in milliseconds for the median time of a page that a gateway reads from PostgreSQL. */
const mostPageMs = 25;
/** How many times the CPU time of a gateway with SQLite a gateway with PostgreSQL may use for the same request. */
const mostCpuTimes = 1.5;

/**
 * Compares a gateway whose index is in PostgreSQL with Clusterpedia's API server, whose tables are on the same server.
 * Also compares the gateway's CPU time with that of a gateway whose index is in SQLite.
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
  const judged: readonly (readonly [holds: boolean, text: string])[] = [
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
    texts: judged.slice(0, 3).map(([, text]) => text),
    missed: judged.filter(([holds]) => !holds).map(([, text]) => text),
  };
}

const hostileRuns = 9;

/**
 * Measures the gateway's CPU time for an expensive request. It includes what the gateway does at the same time for
 * other reasons.
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
