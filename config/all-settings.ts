// All settings of `portcullis serve`, in the sections of the help and of the reference page.
import { collectionsSettings } from './controllers/collections-config.ts';
import { importSettings } from './controllers/import-config.ts';
import { joinsSettings } from './controllers/joins-config.ts';
import { profilesSettings } from './controllers/profiles-config.ts';
import { tenantsSettings } from './controllers/tenants-config.ts';
import { worksSettings } from './controllers/works-config.ts';
import { clusterSettings } from './clusters-config.ts';
import { listenerSettings } from './listeners-config.ts';
import { loginSettings } from './logins-config.ts';
import { processSettings } from './process-config.ts';
import { auditSettings } from './sections/audit-config.ts';
import { consoleSettings } from './sections/console-config.ts';
import { hubDecisionSettings, hubSettings, karmadaSearchSettings } from './sections/hub-settings.ts';
import { identitySettings } from './sections/identity-config.ts';
import { indexSettings } from './sections/index-config.ts';
import { indexStoreSettings } from './sections/index-store-config.ts';
import { limitSettings } from './sections/limits-config.ts';
import { tracingSettings } from './sections/tracing-config.ts';
import { workerSettings } from './workers-config.ts';
import type { Setting } from './settings/settings.ts';

/** The settings by the heading of their section, in the order in which help and pages show them. */
export const settingSections = {
  Listeners: listenerSettings,
  'Clusters of kubeconfig files': clusterSettings,
  Users: loginSettings,
  Process: { ...processSettings, ...workerSettings },
  Hub: hubSettings,
  'What the hub decides': hubDecisionSettings,
  'Identity in the clusters': identitySettings,
  Index: { ...indexSettings, ...indexStoreSettings },
  Console: consoleSettings,
  Limits: limitSettings,
  Audit: auditSettings,
  Traces: tracingSettings,
  'Objects that the gateway carries out': {
    ...worksSettings,
    ...joinsSettings,
    ...tenantsSettings,
    ...profilesSettings,
    ...importSettings,
    ...karmadaSearchSettings,
    ...collectionsSettings,
  },
};

type Sections = typeof settingSections;
/** The name of a setting, which is its key in the configuration file. */
export type SettingName = { [K in keyof Sections]: keyof Sections[K] }[keyof Sections];

/** All settings by name. */
export const allSettings: Readonly<Record<string, Setting>> = Object.assign({}, ...Object.values(settingSections));
