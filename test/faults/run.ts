// `npm run faults`: tests of faults with real processes and sockets. `--time-scale 0.2` (the default) shortens the
// gateway's TTLs and deadlines and the faults alike; `--real` is real time and full scale. One file at a time, since
// each starts control planes on few cores.
import { parseArgs } from 'node:util';
import { conclude, runTests } from '../runner.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'time-scale': { type: 'string' }, real: { type: 'boolean', default: false } },
});
if (values.real && values['time-scale'] !== undefined) throw new Error('--real and --time-scale exclude each other');
const scale = values.real ? '1' : (values['time-scale'] ?? '0.2');
process.env['PORTCULLIS_FAULTS_TIME_SCALE'] = scale;
console.log(`faults at time scale ${scale}${values.real ? ' (real time)' : ''}`);
const files = positionals.length > 0 ? positionals : ['test/faults/*.e2e.ts'];
const counts = await runTests(files, ['--test-concurrency=1', '--test-timeout=3600000']);
process.exitCode = conclude([counts], []);
