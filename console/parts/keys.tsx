// Keyboard shortcuts beyond Tab and Enter. The user can switch them off until the page is loaded again.
import { useSignal, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { address, go, here, place } from '../api/route.ts';
import { session } from '../session/session.ts';

const keys: readonly (readonly [string, string])[] = [
  ['/', 'go to the search bar'],
  ['g c', 'clusters'],
  ['g s', 'search'],
  ['g w', 'works'],
  ['g a', 'access'],
  ['g h', 'health'],
  ['j k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['y', 'YAML of the object'],
  ['e', 'its events'],
  ['r', 'what is related to it'],
  ['l', 'its logs'],
  ['s', 'a shell in it'],
  ['?', 'this list'],
];

const enabled = signal(true);
const open = signal(false);

const goals: Readonly<Record<string, string>> = { c: 'clusters', s: 'search', w: 'works', a: 'access', h: 'health' };
const tabs: Readonly<Record<string, string>> = { y: 'yaml', e: 'events', r: 'related', l: 'logs', s: 'terminal' };

export function useKeys(): void {
  useEffect(() => {
    let after = '';
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      const isTyping = target.closest('input, textarea, select, [contenteditable], .shell') !== null;
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]') !== null)
        return;
      if (event.key === '?') open.value = true;
      if (!enabled.value || session.peek() === undefined) return;
      const { key } = event;
      const goal = after === 'g' ? goals[key] : undefined;
      after = key;
      if (goal !== undefined) go(address([goal]));
      else if (key === '/') toSearch(event);
      else if (place.peek().segments[0] === 'c' && tabs[key] !== undefined) go(here({ tab: tabs[key] }));
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

function toSearch(event: Event): void {
  event.preventDefault();
  const focus = (): void => document.querySelector<HTMLInputElement>('#question')?.focus();
  // If the page has the search bar, it gets the focus at once. A key that is typed before the next frame would be lost
  // otherwise.
  if (place.peek().segments[0] === 'search') return focus();
  go(address(['search']));
  requestAnimationFrame(focus);
}

export function KeysDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOn = useSignal(true);
  useEffect(() => {
    if (open.value) dialog.current?.showModal();
  }, [open.value]);
  return (
    <dialog ref={dialog} onClose={() => (open.value = false)} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label>
        <input type="checkbox" checked={isOn} onChange={() => (enabled.value = isOn.value = !isOn.value)} /> single keys
        do something
      </label>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
