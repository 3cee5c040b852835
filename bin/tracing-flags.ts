// The tracing flags of `portcullis serve`. Environment variables of OpenTelemetry turn tracing on as well, so the help
// of these flags mentions the variables.
import type { Command } from 'commander';

/** Adds the tracing flags. Their values are checked later, with the rest of the configuration. */
export function addTracingFlags(command: Command): Command {
  return command
    .option(
      '--tracing-config-file <file>',
      "where spans go and how many: kube-apiserver's TracingConfiguration, its endpoint for OTLP over HTTP (default: none, " +
        'unless OTEL_EXPORTER_OTLP_ENDPOINT is set)',
    )
    .option('--tracing-user-names [boolean]', 'let spans say who asked (default: false)');
}
