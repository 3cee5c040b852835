// The console when something breaks, in Firefox: the tests of console-faults.e2e.ts in the other browser.
import { browserVariable } from './browser.ts';

process.env[browserVariable] = 'firefox';
await import('./console-faults.e2e.ts');
