// The checks behind livez and readyz. An invalid change of a file, a hub that is down or a cluster that does not answer
// only adds a note to the answer: the gateway still serves with what it knows. Only "no clusters known yet" and
// "shutting down" make the gateway unready.
import type { ClusterRecord } from '../../model/records.ts';
import type { LeaseFaults } from '../../controllers/leader/lease-faults.ts';
import type { HealthCheck } from '../../api/health.ts';
import type { Hub } from '../hub/hub.ts';
import type { Reloading } from '../../config/reloading.ts';
import type { Sources } from './sources.ts';
import type { Users } from '../users/users.ts';

/** The parts of a gateway that the checks look at. */
export interface CheckedParts {
  readonly shuttingDown: () => boolean;
  readonly reloading: Pick<Reloading, 'faults'>;
  readonly sources: Sources;
  readonly hub: Pick<Hub, 'faults'> | undefined;
  readonly users: Pick<Users, 'faults'>;
  readonly clusters: () => readonly ClusterRecord[];
  readonly leases: Pick<LeaseFaults, 'list'>;
}

/** Files, and objects on the hub, whose last change was invalid. Their previous valid content stays in use. */
export function staleInputs({
  reloading,
  sources,
}: Pick<CheckedParts, 'reloading' | 'sources'>): readonly { readonly file: string; readonly message: string }[] {
  return [...reloading.faults(), ...sources.problems().filter(({ stale }) => stale)];
}

/** All checks for livez and readyz, in the order in which `?verbose` lists them. */
export function makeChecks(parts: CheckedParts): readonly HealthCheck[] {
  const { sources, hub, users } = parts;
  const configurationNotes = (): string[] => [
    ...staleInputs(parts).map(({ message }) => `bad edit, the last good state is kept: ${message}`),
    ...sources.problems().flatMap(({ stale, message }) => (stale ? [] : [message])),
  ];
  const checks: HealthCheck[] = [
    { name: 'ping', on: ['livez', 'readyz'], fault: () => undefined },
    {
      name: 'shutdown',
      on: ['readyz'],
      fault: () => (parts.shuttingDown() ? 'the process is shutting down' : undefined),
    },
    { name: 'configuration', on: ['readyz'], fault: () => undefined, note: () => joined(configurationNotes()) },
    { name: 'identity-providers', on: ['readyz'], fault: () => undefined, note: () => joined(users.faults()) },
    { name: 'clusters', on: ['readyz'], fault: () => undefined, note: () => availabilityNote(parts.clusters()) },
  ];
  if (hub !== undefined) {
    checks.push({
      name: 'hub-synced',
      on: ['readyz'],
      fault: () => (sources.synced() ? undefined : 'the hub has not listed its clusters yet'),
      note: () => joined(hub.faults()),
    });
    checks.push({ name: 'leases', on: ['readyz'], fault: () => undefined, note: () => joined(parts.leases.list()) });
  }
  return checks;
}

function joined(notes: readonly string[]): string | undefined {
  return notes.length === 0 ? undefined : notes.join('; ');
}

function availabilityNote(records: readonly ClusterRecord[]): string {
  const available = records.filter(({ status }) =>
    status.conditions.some(({ type, status: is }) => type === 'Available' && is === 'True'),
  );
  return `${available.length} of ${records.length} available`;
}
