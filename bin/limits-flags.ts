// The flags of `portcullis serve` that limit what users, clusters and client connections may use. The defaults shown in
// --help come from the code that reads the configuration.
import type { Command } from 'commander';
import { defaultLimits } from '../config/sections/limits-config.ts';

/** Adds the flags for limits. Their values are checked later, with the rest of the configuration. */
export function addLimitsFlags(command: Command): Command {
  const flag = (flags: string, description: string, name: keyof typeof defaultLimits): void =>
    void command.option(flags, `${description} (default: ${defaultLimits[name]})`);
  flag(
    '--max-requests-inflight <n>',
    'reading requests under way, streams left out; 0: no limit',
    'maxRequestsInflight',
  );
  flag('--max-mutating-requests-inflight <n>', 'the same of changing requests', 'maxMutatingRequestsInflight');
  flag('--max-user-requests-inflight <n>', 'requests of one user under way', 'maxUserRequestsInflight');
  flag('--max-user-cluster-requests-inflight <n>', 'the same to one cluster', 'maxUserClusterRequestsInflight');
  flag('--max-cluster-requests-inflight <n>', 'requests to one cluster under way', 'maxClusterRequestsInflight');
  flag('--max-anonymous-requests-inflight <n>', 'requests of all who did not log in', 'maxAnonymousRequestsInflight');
  flag(
    '--max-requests-queued <n>',
    'requests that may wait when a limit is reached; more are answered 429',
    'maxRequestsQueued',
  );
  flag('--max-user-requests-queued <n>', 'the same of one user', 'maxUserRequestsQueued');
  flag(
    '--request-queue-timeout <duration>',
    'how long a request may wait when a limit is reached',
    'requestQueueTimeout',
  );
  flag('--max-streams <n>', 'open watches, logs and upgrades', 'maxStreams');
  flag('--max-user-streams <n>', 'the same of one user', 'maxUserStreams');
  flag('--max-cluster-streams <n>', 'the same of one cluster', 'maxClusterStreams');
  flag('--user-qps <n>', 'requests of one user a second; 0: no limit', 'userQps');
  command.option('--user-burst <n>', 'requests of one user at once (default: twice --user-qps)');
  flag('--max-connections <n>', 'connections of clients', 'maxConnections');
  flag('--max-address-connections <n>', 'the same from one address', 'maxAddressConnections');
  flag(
    '--slow-client-timeout <duration>',
    'end answers and watches whose client takes nothing for so long; 0: never',
    'slowClientTimeout',
  );
  return command
    .option('--max-memory <size>', 'memory of the process, 512Mi or 2Gi (default: the limit of its control group)')
    .option('--end-expired-streams', 'end streams with the credential that opened them (default: true)')
    .option('--no-end-expired-streams', 'do not');
}
