// The thread in which expressions of authors run: one message is an object with its rules, one answer their conditions.
import { parentPort } from 'node:worker_threads';
import { evaluateRules, type RulesOf } from './condition-rules.ts';

parentPort!.on('message', ({ object, rules }: RulesOf) => parentPort!.postMessage(evaluateRules(object, rules), []));
parentPort!.postMessage('ready', []);
