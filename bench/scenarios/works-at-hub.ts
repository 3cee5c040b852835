// Changes all ManifestWorks of a hub at once, and finds out when each of them is applied in its present form. One watch
// follows all of them, so that waiting costs the hub as little as possible.
import { once } from 'node:events';
import { request, type RequestOptions } from 'node:https';
import type { ClientRequest, IncomingMessage } from 'node:http';

import type { Member } from '../../test/controlplane/fixture.ts';
import { configMap, manifestWork, put, workPath } from '../../test/e2e/distribute/works-site.ts';

const collection = '/apis/work.open-cluster-management.io/v1/manifestworks';

/**
 * The number of ManifestWorks of one cluster, the number of ConfigMaps in each, and the namespace of the ConfigMaps.
 */
export interface WorksSize {
  readonly works: number;
  readonly objectsPerWork: number;
  readonly namespace: string;
  /** Text in each ConfigMap that never changes, which gives the object its size. */
  readonly text: string;
}

interface Work {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly generation: number };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly observedGeneration?: number;
    }[];
  };
}

/**
 * Returns the ConfigMaps of one round. All compared programs apply the same ones.
 * @param first number in the name of the first ConfigMap
 */
export function roundObjects(count: number, { namespace, text }: WorksSize, round: string, first = 0): object[] {
  return Array.from({ length: count }, (_, index) =>
    configMap(`bench-${first + index}`, { round, text }, { namespace }),
  );
}

export class WorksAtHub {
  readonly #hub: Member;
  readonly #applied = new Map<string, number>();
  readonly #watch: ClientRequest;
  #changed = (): void => undefined;

  private constructor(hub: Member, watch: ClientRequest) {
    this.#hub = hub;
    this.#watch = watch;
  }

  static async follow(hub: Member): Promise<WorksAtHub> {
    const { url, caPem: ca, adminCertPem: cert, adminKeyPem: key } = hub;
    const options: RequestOptions = { ca, cert, key, agent: false, headers: { accept: 'application/json' } };
    const watch = request(`${url}${collection}?watch=true`, options).end();
    const [response] = (await once(watch, 'response')) as [IncomingMessage];
    const works = new WorksAtHub(hub, watch);
    let rest = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      for (const line of lines) works.#see((JSON.parse(line) as { readonly object: Work }).object);
    });
    response.on('error', () => undefined);
    return works;
  }

  /** Changes every ManifestWork of the clusters; resolves when all of them are applied in their new form. */
  async push(clusters: readonly string[], size: WorksSize, round: string): Promise<void> {
    const wanted: (readonly [key: string, generation: number])[] = [];
    await Promise.all(
      clusters.map(async (cluster) => {
        for (let work = 0; work < size.works; work += 1) {
          const manifests = roundObjects(size.objectsPerWork, size, round, work * size.objectsPerWork);
          const { metadata } = await this.#put(cluster, `bench-${work}`, manifests);
          wanted.push([`${cluster}/${metadata.name}`, metadata.generation]);
        }
      }),
    );
    const isOver = (): boolean => wanted.every(([key, generation]) => (this.#applied.get(key) ?? 0) >= generation);
    if (isOver()) return;
    await new Promise<void>((resolve) => {
      this.#changed = () => {
        if (isOver()) resolve();
      };
    });
  }

  close(): void {
    this.#watch.destroy();
  }

  async #put(cluster: string, name: string, manifests: readonly object[]): Promise<Work> {
    const path = workPath(name, cluster);
    const patch = { spec: { workload: { manifests } } };
    const type = { 'content-type': 'application/merge-patch+json' };
    const answer = await this.#hub.request('PATCH', path, patch, type);
    if (answer.status === 200) return JSON.parse(answer.body) as Work;
    const resourceIdentifier = { group: '', resource: 'configmaps', name: '*', namespace: '*' };
    const manifestConfigs = [{ resourceIdentifier, updateStrategy: { type: 'ServerSideApply' } }];
    return (await put(this.#hub, manifestWork(name, manifests, { manifestConfigs }, { namespace: cluster }))) as Work;
  }

  #see({ metadata: { namespace, name, generation }, status }: Work): void {
    const applied = status?.conditions?.find(({ type }) => type === 'Applied');
    if (applied?.status !== 'True' || applied.observedGeneration !== generation) return;
    this.#applied.set(`${namespace}/${name}`, generation);
    this.#changed();
  }
}
