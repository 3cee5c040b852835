// Starts the controllers of import policies where the configuration asks for them.
import { startImports } from '../../import/start.ts';
import type { SharedParts } from './shared-parts.ts';

/** Starts them; they end with the gateway. */
export function startImportsOf({ options, hub }: SharedParts): void {
  const { config, log, closers } = options;
  const settings = config.hub?.imports;
  if (settings === undefined || hub === undefined) return;
  const imports = startImports({ client: hub.client, namespace: settings.namespace, log });
  closers.push(() => void imports.close());
}
