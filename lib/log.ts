// The log of the process: lines of JSON on standard error, written by pino. Security: log single named fields, never a
// whole request or credential. The list of redacted fields is only a second protection (docs/rules.md, "Secrets stay
// inside").
import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';

export type Log = Pick<Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'isLevelEnabled'>;

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

const secretFields = ['authorization', 'token', 'password', 'key', 'cert', 'credential', 'clientCertificate', 'cookie'];

/**
 * Makes the log.
 * @param destination where tests read the log; by default standard error, written synchronously, so that the last lines
 * before an exit are not lost
 */
export function makeLog(level: LogLevel, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      redact: { paths: [...secretFields, ...secretFields.map((field) => `*.${field}`)], censor: '[redacted]' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination ?? pino.destination({ dest: 2, sync: true }),
  );
}
