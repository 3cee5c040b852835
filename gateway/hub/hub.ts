// The hub of one gateway: the client for the hub, the hub's decisions about callers, and the serving certificate that
// replicas share through the hub. A gateway starts and serves even when the hub is down. It waits for the hub only when
// the serving certificate is stored there.
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { makeHubClient } from '../../kube/client/hub-client.ts';
import { inClusterConnection, readHubKubeconfig } from '../../cache/hub/hub-connection.ts';
import type { ApiClient } from '../../kube/types.ts';
import type { ExecSettings } from '../../cache/sources/kubeconfig/kubeconfig-credential.ts';
import { startReflector } from '../../kube/reflector/reflector.ts';
import { startHubAccess } from './hub-access.ts';
import type { HubAccess } from './hub-access.ts';
import type { HubConfig } from '../../config/sections/hub-config.ts';
import { startHubServing } from './hub-serving.ts';
import type { HubServing } from './hub-serving.ts';
import type { Log } from '../../lib/log.ts';
import { withCheapReviews } from './review-client.ts';

/** What a gateway uses of its hub: the client, the decisions about callers and the shared serving certificate. */
export interface Hub {
  readonly client: ApiClient;
  readonly access: HubAccess;
  /** The shared serving certificate; undefined unless `--serving-secret` was given. */
  readonly serving: HubServing | undefined;
  /** Why the hub cannot be reached or used, for readyz and logs; empty when nothing is wrong. */
  faults(): readonly string[];
  close(): void;
}

/** What {@link startHub} needs in addition to the configuration of the hub. */
export interface HubParts {
  readonly log: Log;
  readonly version: string;
  /** How exec plugins that the hub's kubeconfig names are run. */
  readonly exec?: ExecSettings | undefined;
}

/**
 * Connects to the hub.
 * @throws ConfigurationError (rejects) when the kubeconfig or the pod's ServiceAccount cannot be read, or the Secret of
 * the serving certificate cannot be used
 * @throws GatewayError (rejects) HUB_UNAVAILABLE when the hub does not show the Secret of the serving certificate
 */
export async function startHub(config: HubConfig, { log, version, exec }: HubParts): Promise<Hub> {
  const onProblem = (fault: string | undefined): void => {
    if (fault === undefined) log.info({}, 'the settings of the connection to the hub are good again');
    else log.error({ fault }, 'the settings of the connection to the hub cannot be used; the last good ones are kept');
  };
  const connection =
    config.kubeconfig === undefined
      ? await inClusterConnection(process.env, { onProblem })
      : await readHubKubeconfig(config.kubeconfig, { onProblem, ...(exec === undefined ? {} : { exec }) });
  if (connection === undefined) {
    const message =
      'there is no hub: the process does not run in a pod with a ServiceAccount; give --hub-kubeconfig FILE';
    throw new ConfigurationError([{ file: '--hub-kubeconfig', message }]);
  }
  const client = withCheapReviews(makeHubClient(connection, { version }), connection, version);
  const access = startHubAccess(client, config, log);
  const closers = [() => connection.close(), () => client.close(), () => access.close()];
  const close = (): void => {
    for (const end of closers.splice(0).toReversed()) end();
  };
  try {
    const serving = await startServing(config, client, log);
    if (serving !== undefined) closers.push(() => serving.close());
    return {
      client,
      access,
      serving,
      faults: () => [...[connection.problem()].filter((fault) => fault !== undefined), ...access.faults()],
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

async function startServing(config: HubConfig, client: ApiClient, log: Log): Promise<HubServing | undefined> {
  if (config.serving === undefined) return undefined;
  const onError = (error: unknown): void => log.error({ err: error }, 'the serving certificate could not be followed');
  return await startHubServing({
    ...config.serving,
    client,
    log,
    follow: (resource, onObjects) => {
      const reflector = startReflector({
        client,
        resource,
        onChange: () => onObjects(reflector.objects),
        onState: ({ fault }) => {
          if (fault !== undefined) log.warn({ resource: resource.resource, fault: fault.message }, 'cannot follow');
        },
        onError,
      });
      // When the hub has no such objects at first, the reflector does not call `onChange`. So the result of the first
      // list is passed on here.
      reflector.synced.then(() => onObjects(reflector.objects)).catch(() => undefined);
      return reflector;
    },
  });
}
