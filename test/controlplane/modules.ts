// The Go modules of the tests and the programs each one gives. Without the version flags a kube-apiserver built as
// a module calls itself `v0.0.0-master+$Format:%H$`, which clients cannot parse.
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The Kubernetes release that the members run. */
export const kubernetesVersion = 'v1.36.3';

/** One `go build`: where, what, and the names its binary answers to. */
export interface GoModule {
  readonly name: string;
  /** Folder relative to this one. */
  readonly folder: string;
  /** Package to build, as `go build` takes it. */
  readonly target: string;
  readonly ldflags: readonly string[];
  /** Programs made from it; with more than one, each is a link to the one binary. */
  readonly programs: readonly string[];
  /** Said before building, so that nobody thinks it hangs. */
  readonly coldBuild: string;
  /** Whether files of the landing tier need it; others are built for a run of all files, or by the file that asks. */
  readonly landing: boolean;
}

function kubernetesVersionFlags(version: string): string[] {
  const [major, minor] = version.replace(/^v/, '').split('.');
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((target) =>
    Object.entries(values).map(([variable, value]) => `-X ${target}.${variable}=${value}`),
  );
}

/** Version of a required module as pinned by the go.mod in `folder`. */
function pinned(folder: string, modulePath: string): string {
  const text = readFileSync(path.join(import.meta.dirname, folder, 'go.mod'), 'utf8');
  const version = text
    .split('\n')
    .map((line) =>
      line
        .trim()
        .replace(/^require /, '')
        .split(' '),
    )
    .find(([name]) => name === modulePath)?.[1];
  if (version === undefined) throw new Error(`${folder}/go.mod does not require ${modulePath}`);
  return version;
}

/** All modules, in the order in which one would want them. */
export function goModules(): readonly GoModule[] {
  const oldKubectl = pinned('clients/kubectl-old', 'k8s.io/kubectl').replace(/^v0\./, 'v1.');
  const helm = pinned('clients/helm', 'helm.sh/helm/v3');
  return [
    {
      name: 'controlplane',
      folder: 'members',
      target: '.',
      ldflags: kubernetesVersionFlags(kubernetesVersion),
      programs: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'kubelet', 'tether'],
      coldBuild: 'about 9 minutes on two cores',
      landing: true,
    },
    {
      name: 'kwok',
      folder: 'kwok',
      target: 'sigs.k8s.io/kwok/cmd/kwok',
      ldflags: [],
      programs: ['kwok'],
      coldBuild: 'about 3 minutes on two cores',
      landing: true,
    },
    {
      name: 'manager',
      folder: 'clients/manager',
      target: '.',
      ldflags: [],
      programs: ['manager'],
      coldBuild: 'about 1 minute on two cores',
      landing: false,
    },
    {
      name: 'informer',
      folder: 'clients/informer',
      target: '.',
      ldflags: [],
      programs: ['informer'],
      coldBuild: 'about 1 minute on two cores',
      landing: false,
    },
    {
      name: 'informer-go',
      folder: '../../docs/how-to/examples/informer-go',
      target: '.',
      ldflags: [],
      programs: ['informer-go'],
      coldBuild: 'about 2 minutes on two cores',
      landing: false,
    },
    {
      name: 'cluster-gateway-client',
      folder: 'clients/cluster-gateway',
      target: '.',
      ldflags: [],
      programs: ['cluster-gateway-client'],
      coldBuild: 'about 1 minute on two cores',
      landing: false,
    },
    {
      name: 'kubectl-old',
      folder: 'clients/kubectl-old',
      target: '.',
      ldflags: kubernetesVersionFlags(oldKubectl),
      programs: ['kubectl-old'],
      coldBuild: 'about 3 minutes on two cores',
      landing: false,
    },
    {
      name: 'helm',
      folder: 'clients/helm',
      target: 'helm.sh/helm/v3/cmd/helm',
      ldflags: [`-X helm.sh/helm/v3/internal/version.version=${helm}`],
      programs: ['helm'],
      coldBuild: 'about 3 minutes on two cores',
      landing: true,
    },
    {
      name: 'karmadactl',
      folder: 'clients/karmadactl',
      target: 'github.com/karmada-io/karmada/cmd/karmadactl',
      ldflags: [],
      programs: ['karmadactl'],
      coldBuild: 'about 4 minutes on two cores',
      landing: false,
    },
    {
      name: 'h2spec',
      folder: 'clients/h2spec',
      target: 'github.com/summerwind/h2spec/cmd/h2spec',
      ldflags: [],
      programs: ['h2spec'],
      coldBuild: 'about 1 minute on two cores',
      landing: true,
    },
    {
      name: 'kubelogin',
      folder: 'clients/kubelogin',
      target: 'github.com/int128/kubelogin',
      ldflags: [],
      programs: ['kubelogin'],
      coldBuild: 'about 1 minute on two cores',
      landing: true,
    },
    {
      name: 'fuzz-oracle',
      folder: 'clients/fuzz-oracle',
      target: '.',
      ldflags: [],
      programs: ['fuzz-oracle'],
      coldBuild: 'about 4 minutes on two cores',
      landing: true,
    },
    {
      name: 'poster',
      folder: 'clients/poster',
      target: '.',
      ldflags: [],
      programs: ['poster'],
      coldBuild: 'about 1 minute on two cores',
      landing: true,
    },
    {
      name: 'template-oracle',
      folder: 'clients/template-oracle',
      target: '.',
      ldflags: [],
      programs: ['template-oracle'],
      coldBuild: 'about 1 minute on two cores',
      landing: false,
    },
    {
      name: 'cel-oracle',
      folder: 'clients/cel-oracle',
      target: '.',
      ldflags: [],
      programs: ['cel-oracle'],
      coldBuild: 'about 3 minutes on two cores',
      landing: false,
    },
    {
      name: 'promql-oracle',
      folder: 'clients/promql-oracle',
      target: '.',
      ldflags: [],
      programs: ['promql-oracle'],
      coldBuild: 'about 2 minutes on two cores',
      landing: false,
    },
    {
      name: 'konnectivity',
      folder: 'konnectivity',
      target: '.',
      ldflags: [],
      programs: ['proxy-server', 'proxy-agent'],
      coldBuild: 'about 2 minutes on two cores',
      landing: false,
    },
    {
      name: 'ocm',
      folder: 'clients/ocm',
      target: '.',
      ldflags: [],
      programs: ['ocm-work-agent', 'ocm-work-hub', 'ocm-registration-hub', 'ocm-placement'],
      coldBuild: 'about 8 minutes on two cores',
      landing: false,
    },
  ];
}

/** The programs that all files of a tier may ask for. */
export function programNames(tier: 'landing' | 'all'): readonly string[] {
  return goModules()
    .filter(({ landing }) => tier === 'all' || landing)
    .flatMap((module) => module.programs);
}
