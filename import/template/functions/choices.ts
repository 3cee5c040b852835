// Functions that choose between values (sprig's defaults.go).
import { TemplateError } from '../values/template-error.ts';
import { isTrue } from '../values/values.ts';
import { fixed, variadic, type Functions } from './callable.ts';

export const choices: Functions = {
  default: variadic(['any'], 'any', ([fallback], given) => (isTrue(given[0]) ? given[0] : fallback)),
  empty: fixed(['any'], ([value]) => !isTrue(value)),
  coalesce: variadic([], 'any', (_, values) => values.find(isTrue) ?? null),
  all: variadic([], 'any', (_, values) => values.every(isTrue)),
  any: variadic([], 'any', (_, values) => values.some(isTrue)),
  ternary: fixed(['any', 'any', 'bool'], ([yes, no, condition]) => (condition ? yes : no)),
  fail: fixed(['string'], () => {
    // The text is left out, since conditions and logs show this error, and the text may hold a value of a Secret.
    throw new TemplateError('fail was called; its text is not shown');
  }),
};
