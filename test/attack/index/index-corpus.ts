// Texts that would mean something to a database, a pattern, a parser or a terminal, and objects that hold them. What is
// well-formed must match itself and nothing else, so each object has exactly one of the texts.
import type { JsonObject } from '../../../sim/model/types.ts';

/** Each a value as users could write it. */
export const hostileValues: readonly string[] = [
  `' OR '1'='1`,
  `'; DROP TABLE obj; --`,
  `" UNION SELECT value FROM term --`,
  '%',
  '_',
  '%_%',
  '*',
  '[a-z]*',
  '\\',
  "\\'",
  '?1',
  ':name',
  '$(id)',
  '${7*7}',
  '{{7*7}}',
  '../../../etc/passwd',
  'file:///etc/passwd',
  'a;b&c=d#e',
  '%27%20OR%201%3D1',
  '%00',
  'nul\u0000behind',
  'nul',
  'line\r\nbreak',
  '\u001b[31mred',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  '-0',
  '1e309',
  '9007199254740993',
  '(a+)+$',
  `${'a'.repeat(200)}!`,
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '\u202eoverride',
  'e\u0301',
  '\u00e9',
  '\ufffd',
  '\u{1f600}',
  ' ',
  ' leading',
  'a,b',
  '(a)',
  '!a',
  'a=b',
  'a in (b)',
];

/** No text at all in UTF-8: JSON can say it, a URL cannot. */
export const loneSurrogate = '\ud800';

/** One ConfigMap in alpha for each text, named by its number. */
export function hostileObjects(): readonly JsonObject[] {
  return [...hostileValues, loneSurrogate].map(
    (text, i) =>
      ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `hostile-${i}`, namespace: 'ops', labels: { hostile: 'yes' } },
        data: { v: text },
      }) as JsonObject,
  );
}
