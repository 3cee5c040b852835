// The section of the configuration about ClusterProfiles of the hub, which tell other programs where clusters are.
// Publishing them is off by default, since the gateway then writes to the hub, and whoever may read ClusterProfiles
// learns of all clusters.
import { z } from 'zod';
import { readText } from '../settings/read-text.ts';
import { namespace, namespacedName, path, text } from '../settings/kinds.ts';
import type { NamespacedName } from '../settings/kinds.ts';
import { readSettings, refuseUnused } from '../settings/settings.ts';
import type { Fault, Kind, Settings, Written } from '../settings/settings.ts';

/** Settings of the ClusterProfiles that the gateway publishes. */
export interface ProfilesConfig {
  /** Namespace of the ClusterProfiles. */
  readonly namespace: string;
  /** The Lease by which replicas elect the one that writes ClusterProfiles. */
  readonly lease: NamespacedName;
  /** Address of the gateway that is written into ClusterProfiles for their readers, without a slash at its end. */
  readonly address: string;
  /** PEM of the CA that signed the certificate at `address`; undefined for the gateway's own CA. */
  readonly ca: string | undefined;
}

/** The kind of `publishClusterProfiles`: a namespace, or a switch, where true means the namespace portcullis-system. */
const namespaceOrSwitch: Kind<string | false> = {
  placeholder: '[namespace]',
  file: z.union([z.boolean(), z.string().min(1)]),
  read: (written, place) => {
    if (String(written) === 'false') return false;
    return String(written) === 'true' ? 'portcullis-system' : namespace.read(written, place);
  },
};

/** The settings for ClusterProfiles. */
export const profilesSettings = {
  publishClusterProfiles: {
    kind: namespaceOrSwitch,
    default: false,
    text: 'publish a [ClusterProfile](../how-to/clients/cluster-profiles.md) (multicluster.x-k8s.io) of each cluster in this namespace of the hub, by which other programs find it; `true` is `portcullis-system`; writes to the hub',
  },
  profilesAddress: {
    kind: text,
    placeholder: '<url>',
    text: 'address of the gateway for these programs, such as `https://gateway.example.com`',
  },
  profilesCa: {
    kind: path,
    otherwise: "the gateway's own",
    text: 'file with the authority of the certificate at that address',
  },
  profilesLease: {
    kind: namespacedName,
    default: 'portcullis-system/portcullis-profiles',
    text: 'Lease of the replica that publishes',
  },
} satisfies Settings;

/**
 * Reads the settings for ClusterProfiles; undefined when none are published. `written.fault` is called for each setting
 * that is wrong.
 * @throws ConfigurationError when the file with the CA cannot be read
 */
export function readProfilesConfig(written: Written): ProfilesConfig | undefined {
  const given = readSettings(profilesSettings, written);
  if (given.publishClusterProfiles === false) {
    refuseUnused(profilesSettings, 'publishClusterProfiles', written);
    return undefined;
  }
  return Object.freeze({
    namespace: given.publishClusterProfiles,
    lease: given.profilesLease,
    address: readAddress(given.profilesAddress, written.fault),
    ca: given.profilesCa === undefined ? undefined : readText(given.profilesCa),
  });
}

function readAddress(address: string | undefined, fault: Fault): string {
  if (address === undefined) {
    fault(
      '--profiles-address',
      'must be given with --publish-cluster-profiles: the address of the gateway for programs that read ClusterProfiles, such as https://gateway.example.com',
    );
    return '';
  }
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.search === '' && url.hash === '';
  if (!isPlain) fault('--profiles-address', `"${address}" is not an https address without user and query`);
  return address.replace(/\/+$/, '');
}
