// The tab with a shell in a container of a Pod. The code of the terminal is loaded only when the user opens a shell.
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { pathOfPlace, paths } from '../api/kube.ts';
import { quoted } from '../live/question.ts';
import { mayDo } from '../live/rights.ts';
import { useAnswer } from '../live/resource.ts';
import { kubectl } from './object-view.ts';
import type { ObjectView } from './object-view.ts';
import { CommandLine, Loading, Notice, State } from '../parts/parts.tsx';
import { go, here, place as now } from '../api/route.ts';
import { part } from '../session/own-build.ts';
import { podContainers } from './summary.tsx';
import type { Shell } from './shell.ts';

export function TerminalTab(view: ObjectView): JSX.Element {
  const { place, object } = view;
  const { cluster, namespace, name } = place;
  const { answer } = useAnswer(
    (signal) => mayDo(cluster, { verb: 'create', resource: 'pods', subresource: 'exec', namespace, name }, signal),
    object.metadata.uid ?? '',
  );
  const containers = podContainers(object).filter(({ state }) => state === 'Running');
  const container = now.value.query.get('container') ?? containers[0]?.name ?? '';
  const round = useSignal(0);
  const { value, loading } = answer.value;
  const path = `${paths.cluster(place.cluster)}${pathOfPlace(place)}/exec`;
  return (
    <>
      <div class="tools">
        <label>
          Container{' '}
          <select value={container} onChange={(event) => go(here({ container: event.currentTarget.value }), true)}>
            {podContainers(object).map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <button
          type="button"
          class={round.value === 0 ? 'main' : ''}
          disabled={value?.allowed !== true || containers.length === 0}
          onClick={() => (round.value += 1)}
        >
          {round.value === 0 ? 'Open a shell' : 'Open a new one'}
        </button>
        {loading && <Loading what="your rights" />}
      </div>
      {containers.length === 0 && (
        <Notice tone="quiet" title="No container is running">
          {<p>A shell needs one that runs.</p>}
        </Notice>
      )}
      {value?.allowed === false && (
        <Notice tone="warn" title={`${place.cluster} does not let you`}>
          <p>
            It takes the right to create <code>pods/exec</code> in {place.namespace}. {value.reason}
          </p>
        </Notice>
      )}
      {round.value > 0 && <ShellView key={`${round.value} ${container}`} path={path} container={container} />}
      <CommandLine line={`${kubectl(place)} exec -it ${quoted(place.name)} -c ${quoted(container)} -- sh`} />
      <CommandLine line={`${kubectl(place)} port-forward ${quoted(place.name)} 8080:80`} />
    </>
  );
}

function ShellView({ path, container }: { path: string; container: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const isOpen = useSignal(false);
  const ended = useSignal<string | undefined>(undefined);
  useEffect(() => {
    let shell: Shell | undefined;
    let gone = false;
    void part(() => import('./shell.ts')).then(
      ({ openShell }) => {
        if (!gone && box.current !== null)
          shell = openShell(box.current, path, container, {
            open: () => (isOpen.value = true),
            end: (why) => (ended.value = why),
          });
      },
      (error: unknown) => (ended.value = String(error)),
    );
    return () => {
      gone = true;
      shell?.close();
    };
  }, []);
  return (
    <>
      <p class="summary">
        {ended.value !== undefined ? (
          <State tone="quiet">{ended}</State>
        ) : isOpen.value ? (
          <State tone="good">open; Ctrl+Shift+E leaves it by keyboard</State>
        ) : (
          <State tone="quiet">connecting</State>
        )}
      </p>
      <div class="shell" ref={box} />
    </>
  );
}
