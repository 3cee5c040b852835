// Parses the times of the parameters `since` and `before`, in every notation that Clusterpedia accepts and in one that
// fits into a label value (`20220304T101500Z`). Whether the text has a `T`, a blank or a `-` decides which notation it
// is read as. A plain number is Unix time in seconds when it has 10 digits and in milliseconds when it has 13.
import { bad } from './parameters.ts';
import { readRfc3339, utcMs } from './rfc3339.ts';

const forms =
  'RFC 3339 (2022-03-04T10:15:00Z, with + as %2B in a URL), 2022-03-04 10:15:00, 2022-03-04, 20220304T101500Z, or Unix time in seconds (10 digits) or ' +
  'milliseconds (13 digits)';

const basic = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
/**
 * The layout `2006-01-02 15:04:05` as Go parses it: the hour may have one digit, and a fraction of a second may follow.
 */
const dateTime = /^(\d{4}-\d\d-\d\d) (\d\d?:\d\d:\d\d)(?:[.,](\d+))?$/;
const shortHour = /T(?=\d:)/;
const date = /^(\d{4})-(\d\d)-(\d\d)$/;

/**
 * Unix milliseconds of a time, rounded up. Rounding changes no result, because objects are created at whole seconds. A
 * time without a zone is UTC.
 * @param name of the parameter, for the error message
 * @throws GatewayError BAD_REQUEST that lists the accepted notations
 */
export function readTimeMs(name: string, text: string): number {
  const ms = timeMs(text);
  if (ms === undefined) throw bad(`${name} ${JSON.stringify(text.slice(0, 60))} is not a time: ${forms}`);
  return ms;
}

function timeMs(text: string): number | undefined {
  if (text.includes('T')) {
    const ns = readRfc3339(text.replace(shortHour, 'T0'));
    // Rounded up, so that a time just after an object's creation stays after that creation.
    if (ns !== undefined) return Number((ns + (ns > 0n ? 999_999n : 0n)) / 1_000_000n);
    return fields(basic, text);
  }
  const inZone = dateTime.exec(text);
  if (inZone !== null) return timeMs(`${inZone[1]}T${inZone[2]}.${inZone[3] ?? '0'}Z`);
  if (text.includes(' ')) return undefined;
  if (text.includes('-')) return fields(date, text);
  if (!/^\d+$/.test(text)) return undefined;
  if (text.length === 10) return Number(text) * 1000;
  return text.length === 13 ? Number(text) : undefined;
}

function fields(form: RegExp, text: string): number | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  return utcMs(year!, month!, day!, hour, minute, second);
}
