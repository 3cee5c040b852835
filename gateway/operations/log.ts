// The process log: JSON lines by pino on standard error. Log named fields only, never a whole request or credential.
// The redaction list is a second protection, not the first (rule "secrets stay inside").
import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';

export type Log = Pick<Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'isLevelEnabled'>;

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

const secretFields = ['authorization', 'token', 'password', 'key', 'cert', 'credential', 'clientCertificate', 'cookie'];

/**
 * @param destination standard error unless a test says otherwise; written synchronously, so that the last lines before
 * an exit are not lost
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
