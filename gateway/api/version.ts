// What `/version` of the gateway says: a Kubernetes version that clients can work with, and our own behind a plus. Easy
// to get wrong: kubectl compares gitVersion with its own version and warns of a skew, helm renders charts by it; both
// take what follows a plus for a build.
import type { ClusterRecord } from '../../cache/model/records.ts';

/** The minor version of Kubernetes this release is tested with: told while no cluster is there to say another. */
export const testedKubernetes = '1.36';

/**
 * `version.Info` of apimachinery. The version of Kubernetes is the newest among clusters that are available, and no
 * closer than its minor: whoever may ask for it need not be allowed to see these clusters. Our own is the build, as in
 * `v1.36.0+portcullis-0.1.0`.
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
 * Of `v1.36.3`, `v1.33.1-gke.5` or `v1.30.2+k3s1`. A member chooses what it says, so no number may be longer than a
 * version's is.
 */
function minorOf(gitVersion: string): Minor | undefined {
  const [, major, minor] = /^v?(\d{1,3})\.(\d{1,3})(?![\d])/.exec(gitVersion) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}
