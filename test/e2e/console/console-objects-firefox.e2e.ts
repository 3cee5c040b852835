// One object in the console, in Firefox: the tests of console-objects.e2e.ts in the other browser.
import { browserVariable } from './browser.ts';

process.env[browserVariable] = 'firefox';
await import('./console-objects.e2e.ts');
