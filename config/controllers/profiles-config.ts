// The section of the configuration about ClusterProfiles of the hub, which tell other programs where clusters are.
// Publishing them is off by default, since the gateway then writes to the hub, and whoever may read ClusterProfiles
// learns of all clusters.
import { resolve } from 'node:path';
import { z } from 'zod';
import { readLease, readText, refuseUnused } from '../values/values.ts';
import type { Fault, Given, LeaseName } from '../values/values.ts';

/** Settings of the ClusterProfiles that the gateway publishes. */
export interface ProfilesConfig {
  /** Namespace of the ClusterProfiles. */
  readonly namespace: string;
  /** The Lease by which replicas elect the one that writes ClusterProfiles. */
  readonly lease: LeaseName;
  /** Address of the gateway that is written into ClusterProfiles for their readers, without a slash at its end. */
  readonly address: string;
  /** PEM of the CA that signed the certificate at `address`; undefined for the gateway's own CA. */
  readonly ca: string | undefined;
}

/** Schema of the settings for ClusterProfiles in the configuration file. */
export const profilesFileFields = {
  publishClusterProfiles: z.union([z.boolean(), z.string().min(1)]).optional(),
  profilesAddress: z.string().min(1).optional(),
  profilesCa: z.string().min(1).optional(),
  profilesLease: z.string().min(1).optional(),
};

/** The settings for ClusterProfiles as the operator wrote them, before they are checked. */
export type ProfilesInput = Given<typeof profilesFileFields>;

export const defaultProfilesNamespace = 'portcullis-system';
export const defaultProfilesLease = 'portcullis-system/portcullis-profiles';

/**
 * Checks the settings for ClusterProfiles; undefined when none are published. `fault` is called for each setting that
 * is wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent
 * @throws ConfigurationError when the file with the CA cannot be read
 */
export function readProfilesConfig(given: ProfilesInput, fault: Fault): ProfilesConfig | undefined {
  const { publishClusterProfiles: publish = false, profilesAddress: address, profilesCa, profilesLease } = given;
  if (publish === false || publish === 'false') {
    refuseUnused(given, profilesFileFields, 'publishClusterProfiles', fault);
    return undefined;
  }
  const namespace = publish === true || publish === 'true' ? defaultProfilesNamespace : publish;
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace))
    fault('--publish-cluster-profiles', `"${namespace}" is not the name of a namespace`);
  return Object.freeze({
    namespace,
    lease: readLease('--profiles-lease', profilesLease ?? defaultProfilesLease, fault),
    address: readAddress(address, fault),
    ca: profilesCa === undefined ? undefined : readText(resolve(profilesCa)),
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
