// The access page: who the user is, what the user may do in each cluster, and a form that asks all clusters for one
// permission.
import type { JSX } from 'preact';
import { askAccess, deeds, judge, readRules } from '../live/rights.ts';
import type { ClusterRules, Verdict } from '../live/rights.ts';
import { findKind, kinds, loadKinds } from '../live/kinds.ts';
import { useAnswer, useTitle } from '../live/resource.ts';
import { quoted } from '../live/question.ts';
import { CommandLine, Loading, Notice, Pairs, Problem, State, Warnings, WideTable } from '../parts/parts.tsx';
import type { Tone } from '../parts/parts.tsx';
import { go, here, place } from '../api/route.ts';
import { session } from '../session/session.ts';

const verdicts: Readonly<Record<Verdict, readonly [Tone, string]>> = {
  yes: ['good', 'yes'],
  some: ['warn', 'some names'],
  no: ['quiet', 'no'],
};

export function AccessPage(): JSX.Element {
  useTitle(() => 'Access');
  const { query } = place.value;
  const namespace = query.get('namespace') ?? 'default';
  return (
    <section class="page">
      <h1>Access</h1>
      <WhoAmI />
      <h2>What you may do in the namespace {namespace}</h2>
      <form class="tools" onSubmit={(event) => submit(event, ['namespace'])}>
        <label>
          Namespace <input name="namespace" value={namespace} />
        </label>
        <button type="submit">Show</button>
      </form>
      <Matrix namespace={namespace} />
      <h2>Ask every cluster</h2>
      <Ask />
    </section>
  );
}

/** Writes the fields of a form into the query of the address. */
function submit(event: SubmitEvent, names: readonly string[]): void {
  event.preventDefault();
  const data = new FormData(event.currentTarget as HTMLFormElement);
  go(here(Object.fromEntries(names.map((name) => [name, String(data.get(name) ?? '').trim()]))));
}

function WhoAmI(): JSX.Element {
  const { identity, way, expiresAtMs } = session.value!;
  return (
    <>
      <Pairs
        rows={[
          ['You are', <strong key="name">{identity.username}</strong>],
          ['Groups', (identity.groups ?? []).map((group) => <code key={group}>{group}</code>)],
          ['Logged in by', way],
          [
            'Logged in until',
            expiresAtMs === undefined
              ? 'you log out or load the page again'
              : new Date(expiresAtMs).toLocaleTimeString(),
          ],
        ]}
      />
      <CommandLine line="kubectl --context portcullis auth whoami" />
    </>
  );
}

function Matrix({ namespace }: { namespace: string }): JSX.Element {
  const { answer, again } = useAnswer((signal) => readRules(namespace, signal), namespace);
  const { value, error, loading } = answer.value;
  return (
    <>
      {loading && <Loading what="your rights in every cluster" />}
      {error && <Problem error={error} again={again} />}
      {value && <Warnings texts={value.warnings} />}
      {value && value.clusters.length === 0 && <Notice tone="quiet" title="There is no cluster that you may reach" />}
      {value && value.clusters.length > 0 && <MatrixRows clusters={value.clusters} />}
      <CommandLine line={`kubectl --context portcullis-CLUSTER auth can-i --list -n ${quoted(namespace)}`} />
    </>
  );
}

function MatrixRows({ clusters }: { clusters: readonly ClusterRules[] }): JSX.Element {
  return (
    <WideTable label="What you may do in each cluster">
      <table class="plain-rows matrix">
        <thead>
          <tr>
            <th scope="col">Cluster</th>
            {deeds.map(({ title }) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {clusters.map(({ cluster, rules, incomplete }) => (
            <tr key={cluster}>
              <th scope="row">{cluster}</th>
              {deeds.map((deed) => {
                const verdict = judge(rules, deed);
                const [tone, word] = verdicts[verdict];
                return (
                  <td key={deed.title}>
                    <State tone={verdict === 'no' && incomplete ? 'warn' : tone}>
                      {verdict === 'no' && incomplete ? 'not said' : word}
                    </State>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </WideTable>
  );
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'impersonate', '*'];
const fields = ['verb', 'resource', 'in'] as const;

function Ask(): JSX.Element {
  const { query } = place.value;
  useAnswer(() => loadKinds().catch(() => undefined), '');
  const [verb, resource, inside] = fields.map((name) => query.get(name) ?? '') as [string, string, string];
  return (
    <>
      <form class="tools" onSubmit={(event) => submit(event, fields)}>
        <label>
          May I{' '}
          <select name="verb" value={verb || 'get'}>
            {verbs.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <label>
          <span class="unseen">Resource</span>
          <input name="resource" list="kinds" value={resource} placeholder="deployments.apps, pods/exec" required />
        </label>
        <datalist id="kinds">
          {(kinds.value ?? []).map(({ id }) => (
            <option key={id} value={id} />
          ))}
        </datalist>
        <label>
          in <input name="in" value={inside} placeholder="all namespaces" />
        </label>
        <button type="submit">Ask</button>
      </form>
      {resource !== '' && (
        <Answers key={`${verb} ${resource} ${inside}`} verb={verb || 'get'} resource={resource} namespace={inside} />
      )}
    </>
  );
}

function Answers({ verb, resource, namespace }: Record<'verb' | 'resource' | 'namespace', string>): JSX.Element {
  const [named = '', subresource] = resource.split('/');
  const kind = findKind(kinds.value ?? [], named);
  const [plural = '', ...groupParts] = named.split('.');
  const asked = {
    verb,
    resource: [kind?.plural ?? plural, ...(subresource ? [subresource] : [])].join('/'),
    group: kind?.group ?? groupParts.join('.'),
    namespace,
  };
  const { answer, again } = useAnswer((signal) => askAccess(asked, signal), JSON.stringify(asked));
  const { value, error, loading } = answer.value;
  return (
    <>
      {loading && <Loading what="the clusters' answers" />}
      {error && <Problem error={error} again={again} />}
      {value && <Warnings texts={value.warnings} />}
      {value && (
        <ul class="conditions" aria-label="Answers of the clusters">
          {value.answers.map(({ cluster, allowed, reason }) => (
            <li key={cluster}>
              <State tone={allowed ? 'good' : 'quiet'}>
                {cluster}: {allowed ? 'yes' : 'no'}
              </State>{' '}
              <span class="quiet">{reason}</span>
            </li>
          ))}
        </ul>
      )}
      <CommandLine
        line={`kubectl --context portcullis-CLUSTER auth can-i ${quoted(verb)} ${quoted(asked.group === '' ? asked.resource : asked.resource.replace(/^[^/]+/, `$&.${asked.group}`))}${namespace === '' ? ' -A' : ` -n ${quoted(namespace)}`}`}
      />
    </>
  );
}
