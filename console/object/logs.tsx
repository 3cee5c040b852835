// Streams the log of a container. Lines are shown as plain text: escape sequences are cut out, markup is not
// interpreted.
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { clusterOf, paths } from '../kube.ts';
import type { KubeObject } from '../kube.ts';
import { quoted } from '../live/question.ts';
import { useAnswer } from '../live/resource.ts';
import { kubectl } from './object-view.ts';
import type { ObjectView } from './object-view.ts';
import { CommandLine, Loading, Notice, Problem, State } from '../parts/parts.tsx';
import { go, here, place as now } from '../route.ts';
import { ApiError, ask, linesOf, post } from '../session/api.ts';
import { podContainers } from './summary.tsx';

/** Returns the Pods whose logs the page of an object offers: the Pod itself, or the Pods that the object owns. */
async function readPods({ place, object }: ObjectView, signal: AbortSignal): Promise<readonly KubeObject[]> {
  if (object.kind === 'Pod') return [object];
  const below = (ownerSeniority: number): Promise<{ readonly items: readonly KubeObject[] }> =>
    post(
      `${paths.index}/query`,
      { resource: ['pods.v1.'], clusters: [place.cluster], ownerUID: object.metadata.uid, ownerSeniority, limit: 200 },
      signal,
    );
  const [children, grandchildren] = await Promise.all([below(0), below(1)]);
  return [...children.items, ...grandchildren.items];
}

export function LogsTab(view: ObjectView): JSX.Element {
  const { answer, again } = useAnswer((signal) => readPods(view, signal), view.object.metadata.uid ?? '');
  const { value, error, loading } = answer.value;
  const asked = now.value.query.get('pod');
  const pod = value?.find(({ metadata }) => metadata.name === asked) ?? value?.[0];
  return (
    <>
      {loading && <Loading what="the pods" />}
      {error && <Problem error={error} again={again} />}
      {value && pod === undefined && (
        <Notice tone="quiet" title="No pods, no logs">
          <p>It owns no pod now that is in the index and that you may see.</p>
        </Notice>
      )}
      {value && pod && <PodLog key={pod.metadata.uid} view={view} pods={value} pod={pod} />}
    </>
  );
}

const ranges = { '5m': '300', '1h': '3600', '1d': '86400', all: '' } as const;

function PodLog({ view, pods, pod }: { view: ObjectView; pods: readonly KubeObject[]; pod: KubeObject }): JSX.Element {
  const { place } = view;
  const { query } = now.value;
  const containers = podContainers(pod).map(({ name }) => name);
  const container = query.get('container') ?? containers[0] ?? '';
  const previous = query.get('previous') === 'true';
  const since = (query.get('since') ?? 'all') as keyof typeof ranges;
  const wrap = useSignal(true);
  const find = useSignal('');
  const set = (name: string) => (event: { currentTarget: { value: string } }) =>
    go(here({ [name]: event.currentTarget.value }), true);
  const parameters = new URLSearchParams({
    container,
    timestamps: 'true',
    follow: String(!previous),
    tailLines: '2000',
  });
  if (previous) parameters.set('previous', 'true');
  if (ranges[since] !== '') parameters.set('sinceSeconds', ranges[since]);
  const path = `${paths.cluster(place.cluster)}/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}/log?${parameters}`;
  const flags = `${previous ? ' --previous' : ' -f'}${ranges[since] === '' ? '' : ` --since=${ranges[since]}s`}`;
  return (
    <>
      <div class="tools">
        {pods.length > 1 && (
          <label>
            Pod{' '}
            <select value={pod.metadata.name} onChange={set('pod')}>
              {pods.map(({ metadata: { name } }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <label>
          Container{' '}
          <select value={container} onChange={set('container')}>
            {containers.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Since{' '}
          <select value={since} onChange={set('since')}>
            {Object.keys(ranges).map((range) => (
              <option key={range}>{range}</option>
            ))}
          </select>
        </label>
        <label>
          <input
            type="checkbox"
            checked={previous}
            onChange={() => go(here({ previous: previous ? undefined : 'true' }), true)}
          />{' '}
          before the last restart
        </label>
        <label>
          <input type="checkbox" checked={wrap} onChange={() => (wrap.value = !wrap.value)} /> wrap
        </label>
        <input
          type="search"
          placeholder="only lines with …"
          aria-label="Only lines with"
          value={find}
          onInput={(event) => (find.value = event.currentTarget.value)}
        />
      </div>
      <LogLines
        key={path}
        path={path}
        wrap={wrap.value}
        find={find.value}
        name={`${clusterOf(pod.metadata) || place.cluster}-${pod.metadata.name}-${container}`}
      />
      <CommandLine line={`${kubectl(place)} logs ${quoted(pod.metadata.name)} -c ${quoted(container)}${flags}`} />
    </>
  );
}

/**
 * Matches escape sequences and control characters of terminals, which set colours and titles or write to the clipboard.
 */
const escapes =
  /\u001B(?:\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|\[[0-?]*[ -/]*[@-~]|.)|[\u0000-\u0008\u000B-\u001F\u007F]/g;

export function plainLine(line: string): string {
  return line.replaceAll(escapes, '');
}

const mostLines = 100_000;
/** How many lines form one block. The browser lays out only the blocks that are in sight. */
const blockLines = 200;

function LogLines({
  path,
  wrap,
  find,
  name,
}: {
  path: string;
  wrap: boolean;
  find: string;
  name: string;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const lines = useRef<string[]>([]);
  const follows = useSignal(true);
  const count = useSignal(0);
  const state = useSignal<'loading' | 'open' | 'ended'>('loading');
  const error = useSignal<ApiError | undefined>(undefined);
  const round = useSignal(0);
  useEffect(() => {
    const stop = new AbortController();
    lines.current = [];
    void readLines(path, stop.signal, (more, isOpen) => {
      lines.current.push(...more.map(plainLine));
      if (lines.current.length > mostLines) lines.current.splice(0, lines.current.length - mostLines);
      count.value += more.length;
      state.value = isOpen ? 'open' : 'ended';
    }).catch((fault: unknown) => {
      if (stop.signal.aborted) return;
      state.value = 'ended';
      error.value = fault instanceof ApiError ? fault : undefined;
    });
    return () => stop.abort();
  }, [path, round.value]);
  const shown = useRef({ find: '\0', from: 0 });
  useEffect(() => {
    const parent = box.current!;
    if (shown.current.find !== find || count.value < shown.current.from) {
      parent.replaceChildren();
      shown.current = { find, from: 0 };
    }
    append(parent, lines.current, Math.max(0, lines.current.length - (count.value - shown.current.from)), find);
    shown.current.from = count.value;
    if (follows.value) parent.scrollTop = parent.scrollHeight;
  }, [count.value, find]);
  const download = (): void => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([lines.current.join('\n'), '\n'], { type: 'text/plain' }));
    link.download = `${name}.log`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const onScroll = ({
    currentTarget: { scrollTop, scrollHeight, clientHeight },
  }: {
    currentTarget: HTMLElement;
  }): void => {
    follows.value = scrollHeight - scrollTop - clientHeight < 40;
  };
  return (
    <>
      {error.value && (
        <Problem error={error.value} again={() => ((error.value = undefined), (count.value = 0), (round.value += 1))} />
      )}
      <p class="summary">
        {state.value === 'loading' && !error.value && <Loading what="the log" />}
        {state.value === 'open' && (
          <State tone="good">{follows.value ? 'following' : 'open; scroll to the end to follow'}</State>
        )}
        {state.value === 'ended' && !error.value && <State tone="quiet">ended</State>}{' '}
        {count.value.toLocaleString('en')} lines{' '}
        <button type="button" class="small" onClick={download}>
          Download
        </button>
      </p>
      <div
        class={`log ${wrap ? 'wrap' : ''}`}
        ref={box}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label="Log"
        aria-live="off"
      />
    </>
  );
}

async function readLines(
  path: string,
  signal: AbortSignal,
  take: (lines: readonly string[], isOpen: boolean) => void,
): Promise<void> {
  const answer = await ask(path, { accept: '*/*', signal });
  take([], true);
  for await (const lines of linesOf(answer)) take(lines, true);
  take([], false);
}

function append(parent: HTMLElement, lines: readonly string[], from: number, find: string): void {
  const wanted = find.toLowerCase();
  const more = lines.slice(from).filter((line) => wanted === '' || line.toLowerCase().includes(wanted));
  for (let i = 0; i < more.length;) {
    let block = parent.lastElementChild;
    if (block === null || block.childElementCount >= blockLines) {
      block = document.createElement('div');
      parent.append(block);
    }
    const part = more.slice(i, i + blockLines - block.childElementCount);
    block.append(...part.map(lineElement));
    i += part.length;
  }
  const most = mostLines / blockLines;
  while (parent.childElementCount > most) parent.firstElementChild!.remove();
}

function lineElement(line: string): HTMLElement {
  const [, time = '', text = line] = /^(\d{4}-\d\d-\d\dT\S+Z) (.*)$/s.exec(line) ?? [];
  const element = document.createElement('span');
  const stamp = document.createElement('time');
  stamp.textContent = time.slice(11, 23).replace('Z', '');
  stamp.title = time;
  element.append(stamp, ` ${text}\n`);
  return element;
}
