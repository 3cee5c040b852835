// The search bar: a menu of resource types, and a text field with words that filter the objects. Values are completed
// from those that the index has and the user may see.
import { useComputed, useSignal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { paths } from '../api/kube.ts';
import type { Kind } from '../api/kube.ts';
import { findKind, kinds } from '../live/kinds.ts';
import { readQuestion } from '../live/question.ts';
import { go, here } from '../api/route.ts';
import { askJson } from '../api/api.ts';

interface Suggestion {
  /** The text that replaces the last word when the suggestion is chosen. */
  readonly word: string;
  readonly says: string;
}

const beginnings: readonly Suggestion[] = [
  { word: 'cluster:', says: 'in these clusters' },
  { word: 'ns:', says: 'in these namespaces' },
  { word: 'name:', says: 'part of the name' },
  { word: 'label:', says: 'label selector, app=web' },
  { word: 'kind:', says: 'another kind, deploy' },
  { word: 'image~', says: 'part of an image' },
  { word: 'phase=', says: 'Running, Failed, …' },
  { word: 'node=', says: 'on this node' },
  { word: 'since:', says: 'created since, 2026-01-31' },
];
/** For each word whose values can be completed, the column or field path by which the index lists its values. */
const valuesBy: Readonly<Record<string, string>> = {
  cluster: 'cluster',
  ns: 'namespace',
  name: 'name',
  'phase=': 'status.phase',
  'node=': 'spec.nodeName',
};

const typingMs = 150;

interface QuestionBarProps {
  readonly known: readonly Kind[];
  readonly kind: Kind | undefined;
  readonly text: string;
}

export function QuestionBar(props: QuestionBarProps): JSX.Element {
  const { known, kind } = props;
  return (
    <form class="bar" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="unseen" for="kind">
        Kind
      </label>
      <select
        id="kind"
        value={kind?.id ?? ''}
        onChange={(event) => go(here({ kind: event.currentTarget.value, sort: undefined }))}
      >
        {kind === undefined && <option value="">choose a kind</option>}
        {known.map(({ id }) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
      <Words {...props} />
    </form>
  );
}

/** The text field, with suggestions below it. */
function Words(props: QuestionBarProps): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const { typed, offered, at, onInput, onKeyDown, choose } = useTyping(props, field);
  const active = useComputed(() => (at.value < 0 ? undefined : `suggestion-${at.value}`));
  return (
    <div class="question">
      <label class="unseen" for="question">
        Words that the objects have
      </label>
      <input
        id="question"
        ref={field}
        type="text"
        role="combobox"
        aria-expanded={offered.value.length > 0}
        aria-controls="suggestions"
        aria-autocomplete="list"
        aria-activedescendant={active}
        autocomplete="off"
        spellcheck={false}
        placeholder="cluster:staging  ns:shop  label:app=web  status.phase!=Running  image~redis  any text"
        value={typed}
        onInput={(event) => onInput(event.currentTarget.value)}
        onFocus={() => typed.value === '' && (offered.value = beginnings)}
        onBlur={() => setTimeout(() => (offered.value = []), 150)}
        onKeyDown={onKeyDown}
      />
      <ul id="suggestions" role="listbox" aria-label="Suggestions" hidden={offered.value.length === 0}>
        {offered.value.map((each, i) => (
          <li
            key={each.word}
            id={`suggestion-${i}`}
            role="option"
            aria-selected={i === at.value}
            onMouseDown={(event) => {
              event.preventDefault();
              choose(each);
            }}
          >
            <code>{each.word}</code> <span class="quiet">{each.says}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface Typing {
  readonly typed: Signal<string>;
  readonly offered: Signal<readonly Suggestion[]>;
  /** Index of the suggestion that is marked by the arrow keys; -1 for none. */
  readonly at: Signal<number>;
  readonly onInput: (value: string) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  readonly choose: (suggestion: Suggestion) => void;
}

/**
 * The state of the text field while the user types: suggestions are offered, and `typingMs` after the last key the
 * address is changed.
 */
function useTyping({ known, kind, text }: QuestionBarProps, field: { current: HTMLInputElement | null }): Typing {
  const typed = useSignal(text);
  const offered = useSignal<readonly Suggestion[]>([]);
  const at = useSignal(-1);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // A click on a facet changes the text in the address, and the field then shows that text. While the user types, the
  // field is left alone.
  useEffect(() => {
    if (document.activeElement !== field.current || text === '') typed.value = text;
  }, [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const show = (next: string, replace: boolean): void => {
    const { words, kind: named = '' } = readQuestion(next);
    const other = findKind(known, named);
    if (other !== undefined) typed.value = words.join(' ');
    go(here(other === undefined ? { q: next.trim() } : { q: words.join(' '), kind: other.id }), replace);
  };
  const onInput = (value: string): void => {
    typed.value = value;
    at.value = -1;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      void suggest(value, kind).then(
        (found) => (offered.value = document.activeElement === field.current ? found : []),
      );
      if (!/(?:^|\s)(?:kind:\S*|[a-zA-Z]+:|\S*[=~<>])$/.test(value)) show(value, true);
    }, typingMs);
  };
  const choose = ({ word }: Suggestion): void => {
    const isWhole = !/[:=~]$/.test(word);
    const value = typed.value.replace(/\S*$/, word) + (isWhole ? ' ' : '');
    offered.value = [];
    field.current?.focus();
    if (!isWhole) return onInput(value);
    typed.value = value;
    show(value, true);
  };
  const onEnter = (): void => {
    clearTimeout(timer.current);
    offered.value = [];
    show(typed.value, false);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const many = offered.value.length;
    const chosen = offered.value[at.value];
    if (event.key === 'ArrowDown' && many > 0) at.value = (at.value + 1) % many;
    else if (event.key === 'ArrowUp' && many > 0) at.value = (at.value - 1 + many) % many;
    else if (event.key === 'Escape') offered.value = [];
    else if (chosen !== undefined && (event.key === 'Enter' || event.key === 'Tab')) choose(chosen);
    else if (event.key === 'Enter') onEnter();
    else return;
    event.preventDefault();
  };
  return { typed, offered, at, onInput, onKeyDown, choose };
}

/** Returns suggestions that may complete the last word of the text. */
async function suggest(text: string, kind: Kind | undefined): Promise<readonly Suggestion[]> {
  const last = /\S*$/.exec(text)![0];
  if (last === '') return text === '' ? beginnings : [];
  const [, key = '', start = ''] = /^([a-z]+[:=])(.*)$/.exec(last) ?? [];
  if (key === 'kind:') {
    const found = (kinds.peek() ?? []).filter(
      ({ id, shortNames }) => id.startsWith(start) || shortNames.some((name) => name.startsWith(start)),
    );
    return found.slice(0, 12).map(({ id, kind: says }) => ({ word: `kind:${id}`, says }));
  }
  const by = valuesBy[key.replace(':', '')];
  if (by === undefined) return beginnings.filter(({ word }) => word.startsWith(last) && word !== last);
  if (kind === undefined) return [];
  const earlier = start.split(',').slice(0, -1);
  const query = new URLSearchParams({ resource: kind.id, by, prefix: start.split(',').at(-1)!, limit: '12' });
  const { values } = await askJson<{ values: readonly string[] }>(`${paths.index}/values?${query}`).catch(() => ({
    values: [],
  }));
  return values
    .filter((value) => value !== '')
    .map((value) => ({ word: key + [...earlier, value].join(','), says: '' }));
}
