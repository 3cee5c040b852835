// The document of `/version`: its gitVersion is a Kubernetes version for clients, then a plus and the version of
// Portcullis. kubectl warns when gitVersion differs much from kubectl's own version, and helm renders charts by it.
// Both ignore what follows the plus.
import type { ClusterRecord } from '../model/records.ts';

/**
 * The minor version of Kubernetes that this release is tested with. `/version` shows it while no cluster is available.
 */
export const testedKubernetes = '1.36';

/**
 * `version.Info` of apimachinery, with a gitVersion such as `v1.36.0+portcullis-0.2.0`. Major and minor are the newest
 * among the available clusters. The patch version is always 0: the caller may not be allowed to see the clusters, so
 * their exact versions stay hidden.
 * @param version of Portcullis
 */
export function versionInfo(version: string, records: readonly Pick<ClusterRecord, 'status'>[]): object {
  const [major, minor] = newestKubernetes(records);
  return {
    major: String(major),
    minor: String(minor),
    gitVersion: `v${major}.${minor}.0+portcullis-${version}`,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '',
    goVersion: '',
    compiler: 'node',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}

type Minor = readonly [major: number, minor: number];

function newestKubernetes(records: readonly Pick<ClusterRecord, 'status'>[]): Minor {
  let newest: Minor | undefined;
  for (const { status } of records) {
    if (!status.conditions.some(({ type, status: is }) => type === 'Available' && is === 'True')) continue;
    const found = minorOf(status.version);
    if (found === undefined) continue;
    if (newest === undefined || found[0] > newest[0] || (found[0] === newest[0] && found[1] > newest[1]))
      newest = found;
  }
  return newest ?? minorOf(testedKubernetes)!;
}

/**
 * Reads major and minor from `v1.36.3`, `v1.33.1-gke.5` or `v1.30.2+k3s1`; undefined when the text is not a version. A
 * member sent the text, so only numbers of up to three digits are accepted.
 */
function minorOf(gitVersion: string): Minor | undefined {
  const [, major, minor] = /^v?(\d{1,3})\.(\d{1,3})(?![\d])/.exec(gitVersion) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}
