// The document of `/version`: a Kubernetes version for clients, and our own behind a plus. kubectl warns when
// gitVersion differs much from its own version, and helm renders charts by it; both ignore what follows the plus.
import type { ClusterRecord } from '../../cache/model/records.ts';

/** The minor version of Kubernetes this release is tested with; shown while no cluster is available. */
export const testedKubernetes = '1.36';

/**
 * `version.Info` of apimachinery, with a version like `v1.36.0+portcullis-0.1.0`. The version of Kubernetes is the
 * newest minor among the available clusters. The patch version is left out, because the caller may not be allowed to
 * see these clusters.
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
 * Reads `v1.36.3`, `v1.33.1-gke.5` or `v1.30.2+k3s1`. The text comes from a member, so the numbers have at most three
 * digits.
 */
function minorOf(gitVersion: string): Minor | undefined {
  const [, major, minor] = /^v?(\d{1,3})\.(\d{1,3})(?![\d])/.exec(gitVersion) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}
