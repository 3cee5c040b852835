// JSON.parse rounds integers beyond 2^53. Objects of clusters and of people are therefore read with parseExact; here
// stands who may use JSON.parse, and why no digit is lost there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productionFiles, textOf } from './sources.ts';

/** What the program wrote itself, such as tokens and records of its stores. */
const own = [
  'bin/reference.ts',
  'cli/apply/cluster/run-state.ts',
  'cli/version.ts',
  'gateway/audit/sinks/spool.ts',
  'api/fanout/lists/tokens.ts',
  'import/lifecycles/follow-template.ts',
  'search/kinds/fetch-page.ts',
  'search/operate/rebuild-requests.ts',
  'query/continue.ts',
  'rights/modes.ts',
  'store/postgres/leases/leases.ts',
  'store/sqlite/read/bodies.ts',
  'store/sqlite/tables/messages.ts',
  'store/sqlite/write/checkpoint.ts',
  'store/stored-types.ts',
  'sync/discover/kept-as.ts',
  'sync/follow/following.ts',
  'sync/shards/published-states.ts',
  'tables/printers/printer.ts',
];

/** Only texts, flags and small numbers of known fields are read from it; the object itself goes nowhere. */
const fieldsOnly = [
  'auth/callers/request-header.ts',
  'auth/jwt/issuer-fetch.ts',
  'auth/reviews/hub-review.ts',
  'cache/credentials/exec-output.ts',
  'cache/sources/objects/argocd.ts',
  'cache/sources/objects/secret-exec.ts',
  'cli/apply/cluster/definitions.ts',
  'distribute/stamp/authors.ts',
  'api/clusters/cluster-gateway-health.ts',
  'api/index/put-back.ts',
  'gateway/audit/object.ts',
  'gateway/check/clusters.ts',
  'gateway/check/hub.ts',
  'api/fanout/discovery.ts',
  'api/fanout/watches/watch-answer.ts',
  'gateway/probe/probe-rights.ts',
  'gateway/probe/probe-scope.ts',
  'gateway/probe/probe.ts',
  'gateway/workers/plugin-runs.ts',
  'import/hub/discovery.ts',
  'rights/mirror.ts',
  'sync/discover/custom-resources.ts',
  'sync/discover/discovery-documents.ts',
  'sync/member/incarnation.ts',
  'sync/document/document.ts',
  'sync/follow/list-items.ts',
  'sync/follow/relist.ts',
  'tenants/object/cluster-permission.ts',
];

/** Readers of JSON themselves: JSON.parse is given a text, or what has no long number. */
const readers = [
  'lib/json/exact-json.ts',
  'lib/json/json-scan.ts',
  'lib/json/parse-json.ts',
  'lib/json/strict-json.ts',
  // Its callers are in the lists above.
  'lib/json/value-count.ts',
  'query/json-path.ts',
  // fromJson of templates has floats only, as sprig's.
  'import/template/functions/encodings.ts',
];

/** The simulated API server of the demo, to which nobody's objects are given to keep. */
const isSimulator = (file: string): boolean => file.startsWith('sim/');

test('JSON that others wrote is read with all its digits', () => {
  const users = productionFiles.filter(
    (file) => !isSimulator(file) && /\b(?:JSON\.parse|parseJson|parseLimited)\(/.test(textOf(file)),
  );
  assert.deepEqual(users.toSorted(), [...own, ...fieldsOnly, ...readers].toSorted());
});
