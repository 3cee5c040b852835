// The small components of which all views are made: states, notices, ages, command lines to copy, links to other sites.
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { age } from '../api/kube.ts';
import { useNow } from '../live/resource.ts';
import type { ApiError } from '../api/api.ts';

/**
 * How good a state is. Each tone has a colour and a shape, so that people who cannot tell the colours apart see the
 * shape.
 */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';

export function State({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return (
    <span class={`state ${tone}`}>
      <span class="shape" aria-hidden="true" />
      {children}
    </span>
  );
}

const goodWords =
  /^(?:Running|Ready|True|Active|Bound|Synced|Available|Complete|Completed|Succeeded|Healthy|Established|Normal|live)$/;
const busyWords =
  /^(?:Pending|ContainerCreating|PodInitializing|Terminating|Init:.*|Progressing|Released|loading)$|^Syncing/;
const badWords =
  /^(?:Failed|Error|False|CrashLoopBackOff|.*BackOff|.*Err|.*Error|OOMKilled|Evicted|Lost|Forbidden|NotReady|Unreachable|failed|.*NotReady.*)$/;
const warnWords = /^(?:Unknown|Stale|Warning|NodeLost|.*SchedulingDisabled|Degraded|retrying)$/;

/** Returns the tone of a word that Kubernetes writes into a status column. */
export function toneOf(word: string): Tone {
  if (goodWords.test(word)) return 'good';
  if (busyWords.test(word)) return 'busy';
  if (badWords.test(word)) return 'bad';
  return warnWords.test(word) ? 'warn' : 'quiet';
}

/** Shows how long ago `since` was, updated every second while it is shown. */
export function Age({ since }: { since: string | undefined }): JSX.Element {
  const now = useNow();
  return (
    <time dateTime={since} title={since}>
      {age(since, now.value)}
    </time>
  );
}

/** A block with a message about the whole view. */
export function Notice({
  tone,
  title,
  children,
}: {
  tone: Tone;
  title: string;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <State tone={tone}>
        <strong>{title}</strong>
      </State>
      {children}
    </div>
  );
}

/** Returns a hint on what the user can do about an HTTP status; status 0 means that no answer came. */
function nextStep(status: number): string {
  if (status === 0) return 'Is the gateway running, and does the network reach it? The page tries again by itself.';
  if (status === 401) return 'Log in again.';
  if (status === 403) return 'Your rights in that cluster do not allow it. The Access page shows what they are.';
  if (status === 404) return 'It may have been deleted, or you may not know that it exists.';
  if (status === 409) return 'It was changed meanwhile. Load it again and repeat the change.';
  if (status === 410) return 'The list is read again.';
  if (status === 429) return 'The gateway is busy with your requests; wait a moment.';
  if (status >= 500) return 'The cluster or the gateway has a problem. Try again; the Clusters page shows its state.';
  return '';
}

/**
 * Shows an error with the gateway's own message, a hint on what the user can do, and the audit id, by which the request
 * is found in the logs.
 */
export function Problem({ error, again }: { error: ApiError; again?: (() => void) | undefined }): JSX.Element {
  const title = error.status === 0 ? 'No answer' : `${error.status} ${error.reason}`.trim();
  return (
    <Notice tone="bad" title={title}>
      <p>{error.message}</p>
      <p class="quiet">{nextStep(error.status)}</p>
      {error.auditId !== '' && (
        <p class="quiet">
          Audit-Id <code>{error.auditId}</code>
        </p>
      )}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </Notice>
  );
}

/** Shows the warnings of an answer, such as the names of clusters that are missing in the answer. */
export function Warnings({ texts }: { texts: readonly string[] }): JSX.Element | null {
  if (texts.length === 0) return null;
  return (
    <Notice
      tone="warn"
      title={texts.length === 1 ? 'Something is missing here' : `${texts.length} things are missing here`}
    >
      <ul>
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Notice>
  );
}

export function Loading({ what }: { what: string }): JSX.Element {
  return (
    <p class="loading" role="status">
      <State tone="busy">Loading {what} …</State>
    </p>
  );
}

/** Shows a kubectl command that prints what the view shows, with a button that copies the command. */
export function CommandLine({ line }: { line: string }): JSX.Element {
  const said = useSignal('Copy');
  const copy = async (): Promise<void> => {
    said.value = await navigator.clipboard.writeText(line).then(
      () => 'Copied',
      () => 'Select it',
    );
    setTimeout(() => (said.value = 'Copy'), 2000);
  };
  return (
    <div class="command">
      <code tabIndex={0}>{line}</code>
      <button type="button" class="small" onClick={() => void copy()}>
        {said}
      </button>
    </div>
  );
}

/**
 * Shows a text from an object. Only http and https addresses become links, with the host beside the text: an annotation
 * could hold a `javascript:` address, or one that looks like another.
 */
export function Text({ children }: { children: string }): JSX.Element {
  const url = /^https?:\/\/\S+$/.test(children) && URL.canParse(children) ? new URL(children) : undefined;
  if (url === undefined) return <>{children}</>;
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer" referrerPolicy="no-referrer">
      {children} <span class="quiet">({url.host})</span>
    </a>
  );
}

/** A list of names, each with its value. */
export function Pairs({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="pairs">
      {rows
        .filter(([, value]) => value !== undefined && value !== '' && value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** A table that can be scrolled sideways on a narrow screen, by mouse and by keyboard. */
export function WideTable({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}

/** A text only for screen readers, which read it aloud when it changes. */
export function Said({ text }: { text: string }): JSX.Element {
  return (
    <span class="unseen" aria-live="polite">
      {text}
    </span>
  );
}
