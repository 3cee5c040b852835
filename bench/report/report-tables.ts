// The heading and columns of each scenario's table in the report. A scenario without an entry here is measured but not
// shown.

/**
 * One column of a scenario's table: the name of the value in a sample, the heading, and the number of decimal places.
 */
export interface Column {
  readonly value: string;
  readonly heading: string;
  readonly digits: number;
}

const requestColumns: readonly Column[] = [
  { value: 'requestsPerSecond', heading: 'req/s', digits: 0 },
  { value: 'p50Ms', heading: 'p50 ms', digits: 2 },
  { value: 'p99Ms', heading: 'p99 ms', digits: 2 },
  { value: 'cpuUs', heading: 'CPU µs/req', digits: 0 },
];

const bulkColumns: readonly Column[] = [
  { value: 'mbPerSecond', heading: 'MB/s', digits: 0 },
  { value: 'p50Ms', heading: 'p50 ms', digits: 1 },
  { value: 'p99Ms', heading: 'p99 ms', digits: 1 },
  { value: 'cpuMsPerMb', heading: 'CPU ms/MB', digits: 2 },
];

const watchColumns: readonly Column[] = [
  { value: 'kbPerWatch', heading: 'KB/watch', digits: 1 },
  { value: 'setupCpuMs', heading: 'setup CPU ms/watch', digits: 2 },
  { value: 'rssMb', heading: 'RSS MB', digits: 0 },
];

const eventColumns: readonly Column[] = [
  { value: 'eventsPerSecond', heading: 'events/s', digits: 0 },
  { value: 'p50Ms', heading: 'p50 ms', digits: 2 },
  { value: 'p99Ms', heading: 'p99 ms', digits: 2 },
  { value: 'cpuUs', heading: 'CPU µs/event', digits: 0 },
];

function renamed(rate: string, cost: string): readonly Column[] {
  return requestColumns.map((column) => {
    if (column.value === 'requestsPerSecond') return { ...column, heading: rate };
    return column.value === 'cpuUs' ? { ...column, heading: cost } : column;
  });
}

/** Columns of the table of each scenario, by the scenario's name. The report shows the scenarios in this order. */
export const columns: Readonly<Record<string, readonly Column[]>> = {
  'get-1': requestColumns,
  'get-16': requestColumns,
  'get-64': requestColumns,
  'get-256': requestColumns,
  'list-1mb': bulkColumns,
  'list-1mb-gzip': bulkColumns,
  'post-10k': requestColumns,
  'exec-echo': renamed('echoes/s', 'CPU µs/echo'),
  handshakes: renamed('handshakes/s', 'CPU µs/handshake'),
  churn: renamed('connections/s', 'CPU µs/connection'),
  watch: watchColumns,
  'watch-10k': watchColumns,
  'events-1k': eventColumns,
  'events-10k': eventColumns,
  memory: [
    { value: 'peak10Mb', heading: 'peak MB, 10 MB list', digits: 0 },
    { value: 'peak100Mb', heading: 'peak MB, 100 MB list', digits: 0 },
    { value: 'growthMb', heading: 'difference MB', digits: 1 },
  ],
  stall: [
    { value: 'requestsPerSecond', heading: 'req/s', digits: 0 },
    { value: 'p50Ms', heading: 'p50 ms', digits: 1 },
    { value: 'p99Ms', heading: 'p99 ms', digits: 1 },
    { value: 'gaveUp', heading: 'given up on the stalled', digits: 0 },
  ],
  'first-requests': requestColumns,
  fairness: [
    { value: 'requestsPerSecond', heading: 'req/s', digits: 1 },
    { value: 'p50Ms', heading: 'p50 ms', digits: 1 },
    { value: 'p99Ms', heading: 'p99 ms', digits: 1 },
    { value: 'floodTimes', heading: 'times its rate beside it', digits: 0 },
    { value: 'floodP50Ms', heading: 'p50 ms beside it', digits: 0 },
  ],
  observability: requestColumns,
  identities: [
    ...requestColumns,
    { value: 'cpuUsWithProbes', heading: 'with probes', digits: 0 },
    { value: 'reviewsPerSecond', heading: 'reviews/s', digits: 0 },
    { value: 'rssMb', heading: 'RSS MB', digits: 0 },
  ],
  scale: [
    { value: 'startSeconds', heading: 'start to last cluster, s', digits: 1 },
    { value: 'rssMb', heading: 'RSS MB', digits: 0 },
    { value: 'idleCpu', heading: 'idle CPU, % of a core', digits: 1 },
    { value: 'hubCpu', heading: 'CPU of the hub, %', digits: 1 },
  ],
  hub: requestColumns,
  workers: [
    ...requestColumns,
    { value: 'coresUsed', heading: 'cores', digits: 2 },
    { value: 'residentMb', heading: 'RSS MB', digits: 0 },
  ],
  registrations: [
    ...requestColumns,
    { value: 'rssMb', heading: 'RSS MB', digits: 0 },
    { value: 'cpuUsWithProbes', heading: 'with probes, µs/req', digits: 0 },
    { value: 'idleCores', heading: 'idle, cores', digits: 3 },
    { value: 'startSeconds', heading: 'start to last cluster, s', digits: 1 },
  ],
  distribute: [
    { value: 'objectsPerSecond', heading: 'objects/s', digits: 0 },
    { value: 'seconds', heading: 's', digits: 2 },
    { value: 'cpuUs', heading: 'CPU µs/object', digits: 0 },
  ],
  'distribute-slow': [
    { value: 'seconds', heading: 's until the other 19 have finished', digits: 2 },
    { value: 'unfinished', heading: 'works left in the first', digits: 0 },
  ],
  'distribute-rest': [
    { value: 'idleCores', heading: 'cores', digits: 3 },
    { value: 'rssMb', heading: 'RSS MB', digits: 0 },
    { value: 'requests', heading: 'requests of the executor but watches', digits: 0 },
    { value: 'watches', heading: 'watches since the start', digits: 0 },
  ],
};

/** Heading of the table of each scenario, by the scenario's name. */
export const titles: Readonly<Record<string, string>> = {
  'get-1': 'GET of a 1 KB ConfigMap, 1 connection',
  'get-16': 'GET of a 1 KB ConfigMap, 16 connections (h2: one stream each)',
  watch: '1,000 idle watches (h2: 10 a connection)',
  'get-64': 'GET of a 1 KB ConfigMap, 64 connections, stub member',
  'get-256': 'GET of a 1 KB ConfigMap, 256 connections, stub member',
  'list-1mb': 'LIST of 1 MB, 4 connections, stub member',
  'list-1mb-gzip': 'LIST of 1 MB that the member has gzipped, 4 connections; MB are those on the wire',
  'post-10k': 'POST of 10 KB, 16 connections, stub member',
  'exec-echo': 'Messages of 64 bytes there and back through 16 exec sessions (WebSocket), stub member',
  handshakes: 'TLS handshakes by 16 clients, none resumed',
  churn: 'GET of a 1 KB ConfigMap, a connection for each, 16 clients, stub member',
  'watch-10k': '10,000 idle watches over HTTP/2 (10 a connection), stub member',
  'events-1k': '1,000 watches, 1,000 events of 1 KB a second, stub member',
  'events-10k': '10,000 watches over HTTP/2, 1,000 events of 1 KB a second, stub member',
  observability: 'GET of a 1 KB ConfigMap, 64 connections, stub member, with what tells of it',
  identities: 'GET by 64 connections: 1 cluster and 1 user, 2,000 clusters and 500 users (simulated hub, stub member)',
  scale: 'Clusters registered on a simulated hub, nobody asking, each probed every 10 s unless said otherwise',
  memory: 'One list read at 25 MB/s, peak memory (stub member)',
  hub: "GET of a 1 KB ConfigMap through a real hub, 16 connections: our CPU and the aggregator's",
  workers: 'GET of a 1 KB ConfigMap over 64 connections, --workers 1 and 2, CPU of all processes',
  registrations: 'GET by 16 connections, 2 and 2,000 clusters registered on a simulated hub',
  'first-requests':
    'GET of a 1 KB ConfigMap by one connection: the first 500 requests of a new process, and 500 later ones',
  fairness: 'One user, alone and beside another with fifty times its rate, 50 places, member at 50 ms',
  stall: 'The other 19 of 20 members while one is stalled',
  distribute:
    '100 changed ConfigMaps of 1 KB to each of 3 clusters, by server-side apply: from the change to the last object',
  'distribute-slow':
    'ManifestWorks: 20 simulated clusters, 10 works of 20 objects each, the first cluster as fast or 5 s late',
  'distribute-rest': 'ManifestWorks: 1,000 simulated clusters, 20 works each, all applied, nothing changes',
};
