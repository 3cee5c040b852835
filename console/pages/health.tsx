// The health page: the gateway's health checks, the state of the index, and the latest requests of this page with their
// audit ids, by which they are found in the gateway's log and the clusters' audit logs.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { paths } from '../api/kube.ts';
import { useAnswer, useTitle } from '../live/resource.ts';
import { CommandLine, Loading, Notice, Problem, State, WideTable } from '../parts/parts.tsx';
import type { Tone } from '../parts/parts.tsx';
import { ApiError, ask, askJson, ownRequests } from '../api/api.ts';

interface Check {
  readonly name: string;
  readonly isWell: boolean;
  readonly note: string;
}

/** Parses the lines `[+]name ok: note` and `[-]name failed: reason` in the answer of a health endpoint. */
export function readChecks(text: string): readonly Check[] {
  return [...text.matchAll(/^\[([+-])\](\S+) (?:ok|failed)(?:: (.*))?$/gm)].map(([, sign, name, note]) => ({
    name: name!,
    isWell: sign === '+',
    note: note ?? '',
  }));
}

async function askChecks(signal: AbortSignal): Promise<readonly Check[]> {
  try {
    return readChecks(await (await ask('/readyz?verbose', { accept: '*/*', signal })).text());
  } catch (error) {
    // A gateway that is not ready answers with status 500, and with the same lines.
    const checks = error instanceof ApiError && error.status === 500 ? readChecks(error.message) : [];
    if (checks.length === 0) throw error;
    return checks;
  }
}

interface Freshness {
  readonly clusters: readonly {
    readonly cluster: string;
    readonly indexed: { readonly status: string; readonly reason: string; readonly message: string };
    readonly resources: readonly { readonly ageSeconds?: number; readonly lagMilliseconds?: number }[];
  }[];
}

const refreshMs = 5000;

export function HealthPage(): JSX.Element {
  useTitle(() => 'Health');
  const checks = useAnswer(askChecks, '');
  const freshness = useAnswer((signal) => askJson<Freshness>(`${paths.index}/freshness`, { signal }), '');
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.hidden) return;
      checks.again();
      freshness.again();
    }, refreshMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="page">
      <h1>Health</h1>
      <h2>Checks of the gateway</h2>
      {checks.answer.value.loading && <Loading what="the checks" />}
      {checks.answer.value.error && <Problem error={checks.answer.value.error} again={checks.again} />}
      <ul class="conditions">
        {checks.answer.value.value?.map(({ name, isWell, note }) => (
          <li key={name}>
            <State tone={isWell ? 'good' : 'bad'}>{`${name}: ${isWell ? 'well' : 'failed'}`}</State>{' '}
            <span class="quiet">{note}</span>
          </li>
        ))}
      </ul>
      <CommandLine line="kubectl --context portcullis get --raw '/readyz?verbose'" />
      <h2>Copies in the index</h2>
      {freshness.answer.value.error && <Problem error={freshness.answer.value.error} again={freshness.again} />}
      {freshness.answer.value.value && <Copies clusters={freshness.answer.value.value.clusters} />}
      <CommandLine line={`kubectl --context portcullis get --raw ${paths.index}/freshness`} />
      <h2>What this page has asked</h2>
      <Requests />
    </section>
  );
}

function Copies({ clusters }: Freshness): JSX.Element {
  if (clusters.length === 0) return <Notice tone="quiet" title="There is no cluster in the index that you may ask" />;
  const toneFor = (status: string, reason: string): Tone =>
    status === 'True' ? 'good' : reason === 'Syncing' ? 'busy' : 'bad';
  return (
    <WideTable label="Copies in the index">
      <table class="plain-rows">
        <thead>
          <tr>
            <th scope="col">Cluster</th>
            <th scope="col">State</th>
            <th scope="col">Types</th>
            <th scope="col">Oldest</th>
            <th scope="col">Behind</th>
            <th scope="col">What it says</th>
          </tr>
        </thead>
        <tbody>
          {clusters.map(({ cluster, indexed, resources }) => (
            <tr key={cluster}>
              <th scope="row">{cluster}</th>
              <td>
                <State tone={toneFor(indexed.status, indexed.reason)}>{indexed.reason}</State>
              </td>
              <td>{resources.length}</td>
              <td>{Math.max(0, ...resources.map(({ ageSeconds = 0 }) => ageSeconds))} s</td>
              <td>{Math.max(0, ...resources.map(({ lagMilliseconds = 0 }) => lagMilliseconds))} ms</td>
              <td class="long">{indexed.message}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </WideTable>
  );
}

function Requests(): JSX.Element {
  return (
    <WideTable label="Requests of this page">
      <table class="plain-rows">
        <thead>
          <tr>
            <th scope="col">At</th>
            <th scope="col">Status</th>
            <th scope="col">Time</th>
            <th scope="col">Request</th>
            <th scope="col">Audit-Id</th>
          </tr>
        </thead>
        <tbody>
          {ownRequests.value.slice(0, 25).map(({ at, auditId, method, milliseconds, path, status }) => (
            <tr key={auditId + at.getTime()}>
              <td>{at.toLocaleTimeString()}</td>
              <td>
                <State tone={status < 400 ? 'good' : 'bad'}>{status}</State>
              </td>
              <td>{Math.round(milliseconds)} ms</td>
              <td class="long">
                <code>{`${method} ${path.length > 140 ? `${path.slice(0, 140)}…` : path}`}</code>
              </td>
              <td>
                <code>{auditId}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </WideTable>
  );
}
