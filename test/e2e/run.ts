// `npm run test:e2e`: everything on real control planes. The binaries are built from pinned Go modules on first use (many minutes, then cached
// outside the tree). Easy to get wrong: one file at a time, since each starts control planes of its own on two cores.
import { conclude, runTests } from '../runner.ts';

const chosen = process.argv.slice(2);
const files = chosen.length > 0 ? chosen : ['test/{controlplane,clients,e2e,faults}/**/*.e2e.ts'];
const counts = await runTests(files, ['--test-concurrency=1', '--test-timeout=1200000']);
process.exitCode = conclude([counts], []);
