// The worker thread in which the CEL expressions of ManifestWorks run. Each message holds an object with its rules; the
// answer holds the conditions.
import { parentPort } from 'node:worker_threads';
import { evaluateRules, type RulesOf } from './condition-rules.ts';

parentPort!.on('message', ({ object, rules }: RulesOf) => parentPort!.postMessage(evaluateRules(object, rules), []));
parentPort!.postMessage('ready', []);
