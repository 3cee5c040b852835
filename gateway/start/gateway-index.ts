// The index as one gateway has it: started with the gateway or by the first question, told in readyz and metrics. Easy
// to get wrong: an index that cannot start or has not started must never keep the frontend shut, so its faults are
// answers to its own paths and notes of a check, nothing else.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { GatewayError } from '../../cache/model/errors.ts';
import type { Index, IndexOptions } from '../../search/index.ts';
import type { IndexConfig } from '../config/index-config.ts';
import type { AnswerIndex } from '../api/index/index-answers.ts';
import type { HealthCheck } from '../operations/health.ts';
import { forbiddenLine, tellIndexed } from '../operations/index-status.ts';
import { registerRead, single } from '../operations/read-metric.ts';
import type { Sources } from './sources.ts';
import { statusObject } from '../status.ts';

/** See the file comment. */
export interface GatewayIndex {
  readonly answer: AnswerIndex;
  readonly check: HealthCheck;
  /**
   * Of an index that starts with the gateway: one line about the clusters it may not read, once that is known;
   * undefined when there is nothing to tell.
   */
  readonly startNote: Promise<string | undefined>;
  register(registry: Registry): void;
  close(): Promise<void>;
}

/** A start that failed is tried again after this, when somebody asks. */
const retryMs = 15_000;
/** One that breaks again within this time waits with its next start. */
const brokenAgainMs = 60_000;
const syncedPollMs = 250;

/** Makes it; starts it now when it was asked for by a flag or an earlier process has left one. */
export function makeGatewayIndex(
  config: IndexConfig,
  {
    sources,
    ...options
  }: Omit<
    IndexOptions,
    | 'resources'
    | 'clusters'
    | 'maxBytes'
    | 'rightsMaxAgeMs'
    | 'rights'
    | 'readAs'
    | 'areClustersKnown'
    | 'statusJson'
    | 'onBroken'
  > & {
    readonly sources: Pick<Sources, 'synced'>;
  },
): GatewayIndex {
  const { folder, log } = options;
  const statusJson: IndexOptions['statusJson'] = (error) => JSON.stringify(statusObject(error));
  let starting: Promise<Index> | undefined;
  let running: Index | undefined;
  let fault: string | undefined;
  let failedAtMs = -Infinity;
  let brokeAtMs = -Infinity;
  let closing: Promise<void> = Promise.resolve();
  let again: NodeJS.Timeout | undefined;
  let isClosed = false;
  let endTelling = (): void => undefined;

  /**
   * The index of this start is given up, and another one begins: at once, or after a while when one has just broken.
   */
  const replace = (started: Promise<Index>): void => {
    if (isClosed || starting !== started) return;
    starting = undefined;
    running = undefined;
    const isFirst = performance.now() - brokeAtMs > brokenAgainMs;
    brokeAtMs = performance.now();
    if (!isFirst) failedAtMs = brokeAtMs;
    fault = 'it was damaged and is built anew';
    // The file is locked until then.
    closing = started
      .then((index) => index.close())
      .catch((error: unknown) => log.error({ err: error }, 'index: one that broke could not be closed'));
    again = setTimeout(() => ready().catch(() => undefined), isFirst ? 0 : retryMs);
    again.unref();
  };

  const begin = async (isCurrent: () => boolean, onBroken: () => void): Promise<Index> => {
    try {
      await closing;
      const { resources, clusters, maxBytes, rightsMaxAgeMs, rights, readAs } = config;
      // Loaded on use: a gateway that is only a frontend starts without it.
      const { startIndex } = await import('../../search/index.ts');
      const areClustersKnown = untilSynced(sources, () => isClosed);
      const index = await startIndex({
        ...options,
        resources,
        clusters,
        maxBytes,
        rightsMaxAgeMs,
        rights,
        readAs,
        areClustersKnown,
        statusJson,
        onBroken,
      });
      if (isCurrent()) {
        fault = undefined;
        running = index;
        endTelling();
        endTelling = tellIndexed(index, options.records, config.resources);
      }
      if (isClosed) await index.close();
      return index;
    } catch (error) {
      // What ends the gateway while this starts is told by who ends it: the folder may be gone already.
      if (!isCurrent() || isClosed) throw error;
      starting = undefined;
      failedAtMs = performance.now();
      fault = error instanceof Error ? error.message : 'unknown fault';
      log.error({ err: error, folder }, 'the index cannot start; the gateway serves without it');
      throw error;
    }
  };
  const ready = (): Promise<Index> => {
    if (isClosed) return Promise.reject(unavailable('the gateway is shutting down'));
    if (starting === undefined) {
      if (performance.now() - failedAtMs < retryMs) return Promise.reject(unavailable(fault ?? 'it did not start'));
      const mine: Promise<Index> = begin(
        () => starting === mine,
        () => replace(mine),
      );
      starting = mine;
    }
    return starting;
  };
  const startsNow = config.startsAtOnce || existsSync(folder);
  const first = startsNow ? ready().catch(() => undefined) : undefined;

  return {
    async answer(request) {
      let index: Index;
      try {
        index = running ?? (await ready());
      } catch (error) {
        if (error instanceof GatewayError) throw error;
        throw unavailable('see the log of the gateway', error);
      }
      await index.answer(request);
    },
    startNote: Promise.resolve(first).then((index) => index && forbiddenLine(index, options.records, config.resources)),
    check: {
      name: 'index',
      on: ['readyz'],
      fault: () => undefined,
      note: () => fault ?? (running === undefined ? 'not started: nobody has asked it yet' : noteOf(running)),
    },
    register(registry) {
      const states = (): ReturnType<Index['state']> => running?.state() ?? [];
      registerRead(registry, 'portcullis_index_objects', 'Objects in the index, by cluster.', 'gauge', () =>
        states().map(({ cluster, types }) => ({
          labels: { cluster },
          value: types.reduce((sum, { objects }) => sum + objects, 0),
        })),
      );
      registerRead(
        registry,
        'portcullis_index_lag_seconds',
        'Age of the oldest change that was read from a cluster and is not in the index yet.',
        'gauge',
        () =>
          states().map(({ cluster, types }) => ({
            labels: { cluster },
            value: types.reduce((most, { lagMs }) => Math.max(most, lagMs), 0) / 1000,
          })),
      );
      registerRead(
        registry,
        'portcullis_index_unsynced_types',
        'Types of a cluster that are chosen and not in the index, or not followed now.',
        'gauge',
        () =>
          states().map(({ cluster, types }) => ({
            labels: { cluster },
            value: types.filter(({ isChosen, isWhole, phase }) => isChosen && (!isWhole || phase !== 'watching'))
              .length,
          })),
      );
      registerRead(
        registry,
        'portcullis_index_rights_samples_total',
        "Decisions of mirrored RBAC that were compared with the cluster's own, by cluster and result (agreed, mismatch, unanswered).",
        'counter',
        () =>
          (running?.rightsSamples() ?? []).map(({ cluster, result, count }) => ({
            labels: { cluster, result },
            value: count,
          })),
      );
      registerRead(registry, 'portcullis_index_bytes', 'What the index takes on disk.', 'gauge', () =>
        single(bytesOf(folder)),
      );
      registerRead(registry, 'portcullis_index_watchers', 'Open watches on the index.', 'gauge', () =>
        single(running?.watchers ?? 0),
      );
    },
    async close() {
      isClosed = true;
      endTelling();
      clearTimeout(again);
      await closing;
      await (running ?? (await starting?.catch(() => undefined)))?.close();
    },
  };
}

/** Sources tell nobody when they have been read, and it is needed once. Never resolves when the gateway ends before. */
async function untilSynced(sources: Pick<Sources, 'synced'>, isClosed: () => boolean): Promise<void> {
  while (!sources.synced()) {
    if (isClosed()) return await new Promise<never>(() => undefined);
    await delay(syncedPollMs, undefined, { ref: false });
  }
}

function unavailable(why: string, cause?: unknown): GatewayError {
  return new GatewayError('INDEX_UNAVAILABLE', `the index cannot answer: ${why}`, cause === undefined ? {} : { cause });
}

function noteOf(index: Index): string {
  const states = index.state();
  const whole = states.filter(
    ({ fault, types }) => fault === undefined && types.length > 0 && types.every(({ isWhole }) => isWhole),
  );
  const objects = states.flatMap(({ types }) => types).reduce((sum, each) => sum + each.objects, 0);
  return `${objects} objects; ${whole.length} of ${states.length} clusters followed completely`;
}

function bytesOf(folder: string): number {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  } catch {
    // Not there yet, or a file went away in between.
    return 0;
  }
}
