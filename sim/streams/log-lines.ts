// Makes the log lines of simulated containers. A line depends only on pod, container, restart count and line number. So
// all readers see the same lines, whenever they read.
import { createHash } from 'node:crypto';
import type { KubeObject } from '../types.ts';
import { containerSpec, containerStatus, restartCountOf } from './shell/containers.ts';

/** A log line without its newline. */
export interface LogLine {
  readonly atMs: number;
  readonly text: string;
}

/** One run of a container, from its start to its end. Times are Unix milliseconds. */
export interface ContainerRun {
  readonly seed: string;
  readonly image: string;
  readonly startedAtMs: number;
  /** When the container ended; undefined while it runs. */
  readonly finishedAtMs: number | undefined;
  readonly exitCode: number;
}

/** How many of the last lines can be read. Older lines count as removed by log rotation. */
export const keptLines = 1_000;

/**
 * The run of the container whose log is requested. Undefined when there is none: the container has not started, or
 * `previous` is requested and it was never restarted.
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

function stateOf(pod: KubeObject, container: string, isPrevious: boolean): Record<string, any> | undefined {
  return containerStatus(pod, container)?.[isPrevious ? 'lastState' : 'state'] as Record<string, any> | undefined;
}

/** The number of lines until `nowMs`. The next line is due at {@link lineTime} of that number. */
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
  const jitter = index === 0 ? 0 : draw(run.seed, index)() * 0.8;
  return Math.floor(run.startedAtMs + (index + jitter) * periodMs);
}

/** The text and time of the line with this index, counted from 0. */
export function logLine(run: ContainerRun, index: number, periodMs: number): LogLine {
  const atMs = lineTime(run, index, periodMs);
  const last = run.finishedAtMs === undefined ? undefined : lineCount(run, run.finishedAtMs, periodMs) - 1;
  const random = draw(run.seed, index);
  random();
  const voice = voices.find(({ images }) => images.test(run.image)) ?? plainVoice;
  if (index === 0) return { atMs, text: voice.first(run, atMs) };
  if (index === last && run.exitCode !== 0) return { atMs, text: `fatal: exiting with code ${run.exitCode}` };
  return { atMs, text: voice.next(random, atMs) };
}

/** Returns a generator of numbers from 0 to 1 that depend only on seed and index. */
function draw(seed: string, index: number): () => number {
  const bytes = createHash('sha256').update(`${seed}#${index}`).digest();
  let at = 0;
  return () => {
    const value = bytes.readUInt32BE((at % 8) * 4) / 0x1_0000_0000;
    at += 1;
    return value;
  };
}

interface Voice {
  readonly images: RegExp;
  first(run: ContainerRun, atMs: number): string;
  next(random: () => number, atMs: number): string;
}

function pick<T>(random: () => number, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)] as T;
}

const paths = [
  '/',
  '/healthz',
  '/api/v1/orders',
  '/api/v1/cart',
  '/static/app.js',
  '/login',
  '/api/v1/search?q=tea',
  '/favicon.ico',
];
const statuses = [200, 200, 200, 200, 200, 204, 304, 404, 500];

const plainVoice: Voice = {
  images: /./,
  first: (run) => `level=info msg="starting" image=${JSON.stringify(run.image)}`,
  next(random) {
    const message = pick(random, [
      'request served',
      'request served',
      'cache refreshed',
      'queue drained',
      'slow query',
      'connection reset by peer',
    ]);
    const level = message === 'slow query' || message.startsWith('connection') ? 'warn' : 'info';
    const id = Math.floor(random() * 0xffff_ffff).toString(16);
    return `level=${level} msg=${JSON.stringify(message)} duration=${Math.ceil(random() * 90)}ms id=${id}`;
  },
};

const voices: readonly Voice[] = [
  {
    images: /(^|\/)(nginx|envoy|haproxy|traefik)/,
    first: () => '/docker-entrypoint.sh: Configuration complete; ready for start up',
    next(random, atMs) {
      const at = new Date(atMs).toISOString().slice(0, 19).replace('T', ':');
      const client = `10.244.${Math.floor(random() * 4)}.${2 + Math.floor(random() * 200)}`;
      const answer = `${pick(random, statuses)} ${Math.floor(random() * 9000)}`;
      return `${client} - - [${at} +0000] "GET ${pick(random, paths)} HTTP/1.1" ${answer} "-" "Mozilla/5.0"`;
    },
  },
  {
    images: /(^|\/)postgres/,
    first: (_run, atMs) => `${new Date(atMs).toISOString()} [1] LOG:  database system is ready to accept connections`,
    next: (random, atMs) =>
      `${new Date(atMs).toISOString()} [${27 + Math.floor(random() * 900)}] LOG:  ` +
      pick(random, [
        'checkpoint starting: time',
        'checkpoint complete: wrote 44 buffers',
        'automatic vacuum of table "shop.public.orders"',
        'connection authorized: user=shop database=shop',
      ]),
  },
  {
    images: /(^|\/)(redis|valkey|memcached)/,
    first: (_run, atMs) => `1:M ${new Date(atMs).toUTCString()} * Ready to accept connections tcp`,
    next: (random, atMs) =>
      `1:M ${new Date(atMs).toUTCString()} * ` +
      pick(random, [
        '100 changes in 300 seconds. Saving...',
        'Background saving started by pid 42',
        'DB saved on disk',
        'Background saving terminated with success',
      ]),
  },
  {
    images: /(kube|coredns|etcd|cert-manager|prometheus|argocd|controller)/,
    first: (_run, atMs) => `I${glogTime(atMs)}       1 main.go:42] "Starting"`,
    next: (random, atMs) =>
      `${pick(random, ['I', 'I', 'I', 'I', 'W'])}${glogTime(atMs)}       1 ` +
      pick(random, [
        'reflector.go:368] "Caches populated"',
        'leaderelection.go:257] "Successfully renewed lease"',
        'controller.go:231] "Reconciled"',
        'proxier.go:812] "SyncProxyRules complete"',
      ]),
  },
];

function glogTime(atMs: number): string {
  const text = new Date(atMs).toISOString();
  return `${text.slice(5, 7)}${text.slice(8, 10)} ${text.slice(11, 23)}000`;
}
