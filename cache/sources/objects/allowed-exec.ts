// Decides which exec plugins from objects of a hub may run: those whose whole command line the operator gave with
// --allow-exec, with a few environment variables. Every other plugin is refused. A list of forbidden variables would
// never be complete, because every interpreter, TLS library and cloud SDK has variables of its own.
import type { ExecPlan } from '../../credentials/exec.ts';

/** The exec plugins that the operator permits. The variables of {@link plainVariables} are permitted in addition. */
export interface AllowedExec {
  /**
   * Command lines; blanks separate the words. One `*` in an argument stands for any value that {@link isPlainArgument}
   * permits.
   */
  readonly allowExec: readonly string[];
  /** Names of environment variables that may have any value. */
  readonly allowExecEnv: readonly string[];
}

/**
 * Environment variables that are always permitted when the value is a plain name. These variables only choose among the
 * operator's AWS profiles and regions. Their values cannot name a file, a program or an address.
 */
export const plainVariables: ReadonlySet<string> = new Set([
  'AWS_PROFILE',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
  'AWS_STS_REGIONAL_ENDPOINTS',
]);

/**
 * Whether a value may stand for the `*` of an argument: not an option, not an absolute path, without `..`, and not a
 * URL. (The AWS CLI reads the file or page that a `file://` or `http://` value names.)
 */
function isPlainArgument(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/.test(text) && !text.includes('..') && !text.includes('//');
}

/**
 * The values that {@link plainVariables} may have. Such a value can at most become one label of a host name, as the
 * region does in `sts.REGION.amazonaws.com`.
 */
const plainValue = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;

const words = (line: string): readonly string[] => line.split(/\s+/).filter((word) => word !== '');

/** Why a command line of the operator cannot be used, and what to write instead; undefined when it can be used. */
export function execLineFault(line: string): string | undefined {
  const [command, ...args] = words(line);
  const shown = JSON.stringify(line);
  if (command === undefined) return 'holds no command';
  if (command.includes(','))
    return `${shown} lists commands: what is allowed now is a whole command line, given once for each, as in "aws eks get-token --cluster-name * --region *"`;
  if (command.includes('*')) return `${shown}: the command itself cannot be a pattern`;
  const odd = args.find((word) => word.indexOf('*') !== word.lastIndexOf('*'));
  return odd === undefined ? undefined : `${shown}: an argument has one * at most, ${JSON.stringify(odd)} has more`;
}

/**
 * A hint for the operator about a command line that can be used but probably permits less than intended: one without
 * arguments. Undefined when there is nothing to say.
 */
export function execLineNote(line: string): string | undefined {
  if (words(line).length !== 1) return undefined;
  return `--allow-exec ${JSON.stringify(line)} allows that command without arguments alone; arguments are part of the line, as in "aws eks get-token --cluster-name * --region *"`;
}

/** Why an exec plugin must not run; undefined when it may. The reason never contains a value of the object. */
export function execRefusal(
  { command, args, env }: Pick<ExecPlan, 'command' | 'args' | 'env'>,
  { allowExec, allowExecEnv }: AllowedExec,
): string | undefined {
  if (allowExec.length === 0)
    return 'has an exec plugin, which the gateway runs for a cluster from the hub only if --allow-exec names its command line; use a ServiceAccountToken';
  const lines = allowExec.map(words).filter(([allowed]) => allowed === command);
  if (lines.length === 0)
    return 'asks for a command that is not allowed; the operator of the gateway can allow it with --allow-exec';
  if (!lines.some(([, ...allowed]) => areAllowed(args, allowed)))
    return `asks for an allowed command with other arguments than are allowed (there are ${args.length}): --allow-exec has whole command lines`;
  const odd = env.findIndex(
    ({ name, value }) => !allowExecEnv.includes(name) && !(plainVariables.has(name) && plainValue.test(value)),
  );
  if (odd < 0) return undefined;
  return plainVariables.has(env[odd]!.name)
    ? `sets ${env[odd]!.name} to a value that is not a plain name; the operator of the gateway can allow any value with --allow-exec-env`
    : `sets an environment variable that is not allowed (env[${odd}]): ${[...plainVariables].join(', ')} are, and those of --allow-exec-env`;
}

function areAllowed(args: readonly string[], allowed: readonly string[]): boolean {
  return args.length === allowed.length && allowed.every((word, index) => fits(args[index]!, word));
}

function fits(argument: string, word: string): boolean {
  const star = word.indexOf('*');
  if (star < 0) return argument === word;
  const [before, after] = [word.slice(0, star), word.slice(star + 1)];
  if (!argument.startsWith(before) || !argument.endsWith(after)) return false;
  // When the argument is shorter than the parts before and after the `*` together, the slice is empty, and
  // isPlainArgument refuses an empty value.
  return isPlainArgument(argument.slice(before.length, argument.length - after.length));
}
