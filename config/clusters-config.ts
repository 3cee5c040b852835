// The section of the configuration about clusters of kubeconfig files, and as whom they are asked.
import type { Config } from './configuration.ts';
import { oneOf, paths } from './settings/kinds.ts';
import { readSettings } from './settings/settings.ts';
import type { Settings, Written } from './settings/settings.ts';

/** The settings about kubeconfig files. */
export const clusterSettings = {
  kubeconfig: {
    kind: paths,
    default: [],
    otherwise: 'none',
    text: 'clusters to serve, one a context; repeatable, in the file a text or a list; watched',
  },
  identity: {
    kind: oneOf('impersonate', 'self'),
    default: 'impersonate',
    text: "ask clusters as the caller, or with the kubeconfig's own rights: `self` is for one user, on a loopback address",
  },
} satisfies Settings;

/** Reads the settings about kubeconfig files. `written.fault` is called for each one that is wrong. */
export function readClusters(written: Written): Pick<Config, 'kubeconfigs' | 'identity'> {
  const { kubeconfig: kubeconfigs, identity } = readSettings(clusterSettings, written);
  return { kubeconfigs, identity };
}
