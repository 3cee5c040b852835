// All bounds of one gateway, started together, and what metrics and readyz tell of them. Easy to get wrong: a gateway that is full is not
// unhealthy; were it taken out of service, the others would be full next.
import { Counter, Gauge } from 'prom-client';
import type { Metric, Registry } from 'prom-client';
import { makeAdmission } from './admission.ts';
import type { Admission, Refusal } from './admission.ts';
import type { HealthCheck } from './health.ts';
import type { LimitsConfig } from './limits-config.ts';

/** What the rest of a gateway uses of its limits. */
export interface Limits {
  readonly admission: Admission;
  /** Never fails; its note is for `readyz?verbose`. */
  readonly check: HealthCheck;
  /** Adds the figures to a registry. */
  register(registry: Registry): void;
  close(): void;
}

const refusals: readonly Refusal[] = ['queue-full', 'user-queue-full', 'queue-timeout', 'rate', 'streams', 'memory'];

/** Starts them; nothing is refused yet. */
export function startLimits(config: LimitsConfig): Limits {
  const admission = makeAdmission(config);
  return {
    admission,
    check: {
      name: 'limits',
      on: ['readyz'],
      fault: () => undefined,
      note: () => {
        const { inFlight, queued } = admission.stats();
        const { reading, mutating, streams } = inFlight;
        return `${reading} reading and ${mutating} changing requests under way, ${queued} waiting, ${streams} streams open`;
      },
    },
    register(registry) {
      for (const metric of admissionMetrics(admission)) registry.registerMetric(metric);
    },
    close: () => undefined,
  };
}

function admissionMetrics(admission: Admission): Metric[] {
  return [
    new Gauge({
      name: 'portcullis_admitted_requests',
      help: 'Places taken, by kind.',
      labelNames: ['kind'],
      registers: [],
      collect() {
        for (const [kind, value] of Object.entries(admission.stats().inFlight)) this.set({ kind }, value);
      },
    }),
    new Gauge({
      name: 'portcullis_queued_requests',
      help: 'Requests that wait for a place.',
      registers: [],
      collect() {
        this.set(admission.stats().queued);
      },
    }),
    new Counter({
      name: 'portcullis_rejected_requests_total',
      help: 'Requests answered 429, by reason.',
      labelNames: ['reason'],
      registers: [],
      collect() {
        this.reset();
        const { refused } = admission.stats();
        for (const reason of refusals) this.inc({ reason }, refused.get(reason) ?? 0);
      },
    }),
  ];
}
