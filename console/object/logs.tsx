// The tab with the log of a container. Lines are shown as plain text: terminal escape sequences are removed, and HTML
// in them is not interpreted.
import { useSignal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { clusterOf, pathOfPlace, paths } from '../api/kube.ts';
import type { KubeObject } from '../api/kube.ts';
import { quoted } from '../live/question.ts';
import { useAnswer } from '../live/resource.ts';
import { kubectl } from './object-view.ts';
import type { ObjectView } from './object-view.ts';
import { CommandLine, Loading, Notice, Problem, State } from '../parts/parts.tsx';
import { go, here, place as now } from '../api/route.ts';
import { ApiError, ask, linesOf, post } from '../api/api.ts';
import { podContainers } from './summary.tsx';

/**
 * Returns the Pods whose logs the tab offers: the object itself if it is a Pod, else the Pods below it in the tree of
 * owners, two levels deep.
 */
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

/** Reads from the address what to show: the container, the log of the last or the previous run, and since when. */
function readChoice(pod: KubeObject): {
  readonly container: string;
  readonly previous: boolean;
  readonly since: string;
} {
  const { query } = now.value;
  return {
    container: query.get('container') ?? podContainers(pod)[0]?.name ?? '',
    previous: query.get('previous') === 'true',
    since: ranges[(query.get('since') ?? 'all') as keyof typeof ranges] ?? '',
  };
}

function PodLog({ view, pods, pod }: { view: ObjectView; pods: readonly KubeObject[]; pod: KubeObject }): JSX.Element {
  const { place } = view;
  const { namespace = '', name } = pod.metadata;
  const { container, previous, since } = readChoice(pod);
  const wrap = useSignal(true);
  const find = useSignal('');
  const parameters = new URLSearchParams({
    container,
    timestamps: 'true',
    follow: String(!previous),
    tailLines: '2000',
    ...(previous && { previous: 'true' }),
    ...(since !== '' && { sinceSeconds: since }),
  });
  const at = { cluster: place.cluster, group: '', version: 'v1', plural: 'pods', namespace, name };
  const path = `${paths.cluster(place.cluster)}${pathOfPlace(at)}/log?${parameters}`;
  const flags = `${previous ? ' --previous' : ' -f'}${since === '' ? '' : ` --since=${since}s`}`;
  return (
    <>
      <LogTools pods={pods} pod={pod} wrap={wrap} find={find} />
      <LogLines
        key={path}
        path={path}
        wrap={wrap.value}
        find={find.value}
        name={`${clusterOf(pod.metadata) || place.cluster}-${name}-${container}`}
      />
      <CommandLine line={`${kubectl(place)} logs ${quoted(name)} -c ${quoted(container)}${flags}`} />
    </>
  );
}

interface LogToolsProps {
  readonly pods: readonly KubeObject[];
  readonly pod: KubeObject;
  readonly wrap: Signal<boolean>;
  readonly find: Signal<string>;
}

function LogTools({ pods, pod, wrap, find }: LogToolsProps): JSX.Element {
  const { container, previous } = readChoice(pod);
  return (
    <div class="tools">
      {pods.length > 1 && (
        <Choice name="pod" title="Pod" value={pod.metadata.name} values={pods.map(({ metadata }) => metadata.name)} />
      )}
      <Choice
        name="container"
        title="Container"
        value={container}
        values={podContainers(pod).map(({ name }) => name)}
      />
      <Choice name="since" title="Since" value={now.value.query.get('since') ?? 'all'} values={Object.keys(ranges)} />
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
  );
}

/** A menu whose choice is stored in a query parameter of the address. */
function Choice(props: { name: string; title: string; value: string; values: readonly string[] }): JSX.Element {
  return (
    <label>
      {props.title}{' '}
      <select value={props.value} onChange={(event) => go(here({ [props.name]: event.currentTarget.value }), true)}>
        {props.values.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

/**
 * Matches terminal escape sequences and control characters. They could set colours and titles, or write to the
 * clipboard.
 */
const escapes =
  /\u001B(?:\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|\[[0-?]*[ -/]*[@-~]|.)|[\u0000-\u0008\u000B-\u001F\u007F]/g;

export function plainLine(line: string): string {
  return line.replaceAll(escapes, '');
}

const mostLines = 100_000;
/** Lines in one block of the page. The browser lays out only the blocks that are in sight. */
const blockLines = 200;

/** The log of one container, which is read while its tab is shown. */
interface OpenLog {
  /** The latest lines, at most `mostLines`. */
  readonly lines: { current: string[] };
  /** How many lines have arrived, including those that were dropped. */
  readonly count: Signal<number>;
  readonly state: Signal<'loading' | 'open' | 'ended'>;
  readonly error: Signal<ApiError | undefined>;
  /** Reads the log from its beginning again. */
  again(): void;
}

function useLog(path: string): OpenLog {
  const lines = useRef<string[]>([]);
  const count = useSignal(0);
  const state = useSignal<'loading' | 'open' | 'ended'>('loading');
  const error = useSignal<ApiError | undefined>(undefined);
  const round = useSignal(0);
  useEffect(() => {
    const stop = new AbortController();
    lines.current = [];
    count.value = 0;
    error.value = undefined;
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
  return { lines, count, state, error, again: () => (round.value += 1) };
}

function LogLines({
  path,
  wrap,
  find,
  name,
}: Record<'path' | 'find' | 'name', string> & { wrap: boolean }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const log = useLog(path);
  const { lines, count, error } = log;
  const follows = useSignal(true);
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
  return (
    <>
      {error.value && <Problem error={error.value} again={() => log.again()} />}
      <p class="summary">
        <LogState log={log} follows={follows.value} /> {count.value.toLocaleString('en')} lines{' '}
        <button type="button" class="small" onClick={() => download(`${name}.log`, lines.current)}>
          Download
        </button>
      </p>
      <div
        class={`log ${wrap ? 'wrap' : ''}`}
        ref={box}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
          (follows.value = scrollHeight - scrollTop - clientHeight < 40)
        }
        tabIndex={0}
        role="log"
        aria-label="Log"
        aria-live="off"
      />
    </>
  );
}

function LogState({ log: { state, error, again }, follows }: { log: OpenLog; follows: boolean }): JSX.Element | null {
  if (error.value) return null;
  if (state.value === 'loading') return <Loading what="the log" />;
  if (state.value === 'open')
    return <State tone="good">{follows ? 'following' : 'open; scroll to the end to follow'}</State>;
  return (
    <>
      <State tone="quiet">ended</State>
      <button type="button" class="small" onClick={again}>
        Read it again
      </button>
    </>
  );
}

function download(name: string, lines: readonly string[]): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([lines.join('\n'), '\n'], { type: 'text/plain' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
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
