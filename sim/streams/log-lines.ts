// Makes the log lines of simulated containers. A line depends only on pod, container, restart count and line number. So
// all readers see the same lines, whenever they read.
import type { KubeObject } from '../model/types.ts';
import { createRandom, type Random } from '../model/random.ts';
import { containerSpec, containerStatus, restartCountOf } from './shell/containers.ts';

/** A log line: its time in Unix milliseconds, and its text without the newline. */
export interface LogLine {
  readonly atMs: number;
  readonly text: string;
}

/** One run of a container, from its start to its end. Times are Unix milliseconds. */
export interface ContainerRun {
  /** The seed of the random text of the lines; different for each run. */
  readonly seed: string;
  readonly image: string;
  readonly startedAtMs: number;
  /** When the container ended; undefined while it runs. */
  readonly finishedAtMs: number | undefined;
  readonly exitCode: number;
}

/** How many of the last lines of a log can be read. Older lines are left out, as if log rotation had removed them. */
export const keptLines = 1_000;

/**
 * The run of the container whose log is requested. Undefined when there is no such run: the container has not started,
 * or the run before the last restart (`previous`) is requested and the container was never restarted.
 */
export function containerRun(pod: KubeObject, container: string, isPrevious: boolean): ContainerRun | undefined {
  const restarts = restartCountOf(pod, container);
  const state = stateOf(pod, container, isPrevious);
  const image = String(containerSpec(pod, container)?.['image'] ?? '');
  const seed = `${pod.metadata.uid}/${container}/${isPrevious ? restarts - 1 : restarts}`;
  const ended = state?.['terminated'] as Record<string, any> | undefined;
  if (ended !== undefined) {
    const [startedAtMs = NaN, finishedAtMs = NaN] = ['startedAt', 'finishedAt'].map((field) =>
      Date.parse(String(ended[field] ?? pod.metadata.creationTimestamp)),
    );
    return { seed, image, startedAtMs, finishedAtMs, exitCode: Number(ended['exitCode'] ?? 0) };
  }
  if (isPrevious || state?.['waiting'] !== undefined) return undefined;
  const startedAt = state?.['running']?.startedAt ?? pod['status']?.startTime ?? pod.metadata.creationTimestamp;
  return { seed, image, startedAtMs: Date.parse(String(startedAt)), finishedAtMs: undefined, exitCode: 0 };
}

/**
 * The part of the container's status that describes the run whose log is shown. For a container that waits for its next
 * start, as in a crash loop, it is the last run.
 */
function stateOf(pod: KubeObject, container: string, isPrevious: boolean): Record<string, any> | undefined {
  const status = containerStatus(pod, container);
  const waits = status?.['state']?.waiting !== undefined && status['lastState']?.terminated !== undefined;
  return status?.[isPrevious || waits ? 'lastState' : 'state'] as Record<string, any> | undefined;
}

/** How many lines the run has written until `nowMs`. The next line is written at {@link lineTime} of this number. */
export function lineCount(run: ContainerRun, nowMs: number, periodMs: number): number {
  const end = Math.min(nowMs, run.finishedAtMs ?? nowMs);
  if (end < run.startedAtMs) return 0;
  const slot = Math.floor((end - run.startedAtMs) / periodMs);
  return lineTime(run, slot, periodMs) <= end ? slot + 1 : slot;
}

/**
 * When line `index` is written, in Unix milliseconds. The first line comes at the start, each later line at a random
 * point within its period.
 */
export function lineTime(run: ContainerRun, index: number, periodMs: number): number {
  const jitter = index === 0 ? 0 : createRandom(`${run.seed}#${index}`).next() * 0.8;
  return Math.floor(run.startedAtMs + (index + jitter) * periodMs);
}

/** The text and time of the line with this index, counted from 0. */
export function logLine(run: ContainerRun, index: number, periodMs: number): LogLine {
  const atMs = lineTime(run, index, periodMs);
  const last = run.finishedAtMs === undefined ? undefined : lineCount(run, run.finishedAtMs, periodMs) - 1;
  if (index === last && index > 0 && run.exitCode !== 0)
    return { atMs, text: `fatal: exiting with code ${run.exitCode}` };
  const random = createRandom(`${run.seed}#${index}`);
  random.next();
  const { lead, start, messages } = voices.find(({ images }) => images.test(run.image)) ?? plainVoice;
  return { atMs, text: lead(atMs, random) + (index === 0 ? start : random.pick(messages)) };
}

/** What the log lines of one kind of program look like. */
interface Voice {
  /** Matches the images of such programs. */
  readonly images: RegExp;
  /** Returns the text before each message, such as the time and the level. */
  lead(atMs: number, random: Random): string;
  /** The message of the first line. */
  readonly start: string;
  /** The messages of all later lines. */
  readonly messages: readonly string[];
}

const plainVoice: Voice = {
  images: /./,
  lead: (_atMs, random) => `level=info id=${random.between(0, 0xffff_ffff).toString(16)} msg=`,
  start: '"starting"',
  messages: ['"request served"', '"request served"', '"cache refreshed"', '"queue drained"', '"slow query"'],
};

const voices: readonly Voice[] = [
  {
    images: /(^|\/)(nginx|envoy|haproxy|traefik)/,
    lead: (atMs, random) =>
      `10.244.${random.between(0, 3)}.${random.between(2, 201)} - - [${new Date(atMs).toISOString().slice(0, 19)}] `,
    start: 'Configuration complete; ready for start up',
    messages: [
      '"GET / HTTP/1.1" 200 5120',
      '"GET /api/v1/orders HTTP/1.1" 200 3127',
      '"GET /static/app.js HTTP/1.1" 304 0',
      '"GET /api/v1/search?q=tea HTTP/1.1" 200 871',
      '"GET /favicon.ico HTTP/1.1" 404 153',
    ],
  },
  {
    images: /(^|\/)postgres/,
    lead: (atMs) => `${new Date(atMs).toISOString()} [1] LOG:  `,
    start: 'database system is ready to accept connections',
    messages: [
      'checkpoint starting: time',
      'checkpoint complete: wrote 44 buffers',
      'automatic vacuum of table "shop.public.orders"',
      'connection authorized: user=shop database=shop',
    ],
  },
  {
    images: /(^|\/)(redis|valkey|memcached)/,
    lead: (atMs) => `1:M ${new Date(atMs).toUTCString()} * `,
    start: 'Ready to accept connections tcp',
    messages: ['100 changes in 300 seconds. Saving...', 'Background saving started by pid 42', 'DB saved on disk'],
  },
  {
    images: /(kube|coredns|etcd|cert-manager|prometheus|argocd|controller)/,
    lead: (atMs) => `I${glogTime(atMs)}       1 `,
    start: 'main.go:42] "Starting"',
    messages: [
      'reflector.go:368] "Caches populated"',
      'leaderelection.go:257] "Successfully renewed lease"',
      'controller.go:231] "Reconciled"',
      'proxier.go:812] "SyncProxyRules complete"',
    ],
  },
];

function glogTime(atMs: number): string {
  const text = new Date(atMs).toISOString();
  return `${text.slice(5, 7)}${text.slice(8, 10)} ${text.slice(11, 23)}000`;
}
