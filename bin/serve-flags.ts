// The flags of `portcullis serve`, one for each setting that has one, in groups. Their values are checked later, with
// the rest of the configuration. Flags get no default values here: a flag overrides the configuration file, so a
// default value would override the file as well.
import { Option } from 'commander';
import type { Command } from 'commander';
import { allSettings, settingSections } from '../config/all-settings.ts';
import { defaultText, flagOf } from '../config/settings/settings.ts';
import type { Setting } from '../config/settings/settings.ts';

/**
 * Adds the flags of all settings to `serve`.
 * @param note prints a warning, for flags of cluster-gateway that have no effect
 */
export function addServeFlags(command: Command, note: (text: string) => void): void {
  command.option('--config <file>', 'YAML file with the settings below; flags override it');
  for (const [heading, settings] of Object.entries(settingSections))
    for (const [name, setting] of Object.entries(settings as Readonly<Record<string, Setting>>))
      for (const option of optionsOf(name, setting)) command.addOption(option.helpGroup(`${heading}:`));
  addFlagsWithoutEffect(command, note);
  // One wide flag would leave little room for the texts, so each text has lines of its own.
  command.configureHelp({
    formatItem: (term, _width, text, help) =>
      `  ${term}\n${help.boxWrap(text, (help.helpWidth ?? 80) - textIndent.length).replaceAll(/^/gm, textIndent)}`,
  });
}

const textIndent = ' '.repeat(8);

function optionsOf(name: string, setting: Setting): readonly Option[] {
  if (setting.hasNoFlag === true) return [];
  const { kind, placeholder = kind.placeholder, alias } = setting;
  const option = new Option(`${flagOf(name)} ${placeholder}`, `${plain(setting.text)}${defaultOf(setting)}`);
  if (kind.isRepeatable === true) option.argParser(append);
  if (kind.choices !== undefined) option.choices(kind.choices);
  const hidden = [
    ...(alias === undefined ? [] : [new Option(`${flagOf(alias)} ${placeholder}`, flagOf(name))]),
    ...(setting.default === true ? [new Option(`--no-${flagOf(name).slice(2)}`, `${flagOf(name)}=false`)] : []),
  ];
  return [option, ...hidden.map((one) => one.hideHelp())];
}

function append(value: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), value];
}

/**
 * The text ` (default: …)` behind a flag in the help; '' for switches that are off by default and for settings without
 * a default.
 */
function defaultOf(setting: Setting): string {
  const text = plain(defaultText(setting));
  return setting.default === false || text === '' ? '' : ` (default: ${text})`;
}

/** Markdown as plain text: links and code lose their marks, and keys of the configuration file become flags. */
export function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`([^`]*)`/g, (_, code: string) => (code in allSettings ? flagOf(code) : code));
}

/**
 * Adds flags of cluster-gateway that have no effect in Portcullis, so that command lines for cluster-gateway are
 * accepted.
 */
function addFlagsWithoutEffect(command: Command, note: (text: string) => void): void {
  command.addOption(new Option('--ocm-integration', 'the source ocm, which is on by default').hideHelp());
  command.addOption(
    new Option('--feature-gates <gates>', "cluster-gateway's").hideHelp().argParser((gates: string) => {
      for (const gate of gates.split(',')) note(featureGateNote(gate.trim()));
      return gates;
    }),
  );
}

/**
 * Returns the warning for a feature gate of cluster-gateway: that the gate has no effect here, and what to do instead
 * or that it can be removed.
 */
function featureGateNote(gate: string): string {
  const [name = '', value = ''] = gate.split('=');
  if (name === 'ClientIdentityPenetration' && value === 'false') {
    return 'warning: --feature-gates ClientIdentityPenetration=false has no effect: the gateway always impersonates the caller; see --identity-exchange for other identities\n';
  }
  const known = ['ClientIdentityPenetration', 'SecretCache', 'HealthinessCheck', 'APIPriorityAndFairness'];
  if (known.includes(name)) return `warning: --feature-gates ${name} has no effect and can be removed\n`;
  return `warning: --feature-gates ${name} is not known and has no effect\n`;
}
