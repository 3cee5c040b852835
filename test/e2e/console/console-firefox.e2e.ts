// What people see in the console, in Firefox: the tests of console.e2e.ts in the other browser.
import { browserVariable } from './browser.ts';

process.env[browserVariable] = 'firefox';
await import('./console.e2e.ts');
