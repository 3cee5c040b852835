// One answer of the API as a signal, for views that show a document and not a list.
import { signal, useSignalEffect } from '@preact/signals';
import type { ReadonlySignal, Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError } from '../session/api.ts';

/** What a view knows of an answer. At the beginning all but `loading` is absent. */
export interface Answer<T> {
  readonly loading: boolean;
  readonly value?: T | undefined;
  readonly error?: ApiError | undefined;
}

/**
 * Asks when the view appears and each time `key` changes; what was asked before is given up.
 * @param key what the question depends on
 * @returns the answer, and a function that asks again
 */
export function useAnswer<T>(
  question: (signal: AbortSignal) => Promise<T>,
  key: string,
): { readonly answer: ReadonlySignal<Answer<T>>; again(): void } {
  const state = useMemo(() => ({ answer: signal<Answer<T>>({ loading: true }), round: signal(0) }), []);
  useEffect(() => {
    state.answer.value = { loading: true };
    const given = new AbortController();
    const stop = state.round.subscribe(() => void run(question, state.answer, given.signal));
    return () => {
      stop();
      given.abort();
    };
  }, [key]);
  return { answer: state.answer, again: () => (state.round.value += 1) };
}

async function run<T>(
  question: (signal: AbortSignal) => Promise<T>,
  answer: Signal<Answer<T>>,
  signal: AbortSignal,
): Promise<void> {
  try {
    const value = await question(signal);
    if (!signal.aborted) answer.value = { loading: false, value };
  } catch (error) {
    if (signal.aborted) return;
    const known =
      error instanceof ApiError ? error : new ApiError(0, { message: String(error), reason: 'PageError' }, '');
    answer.value = { loading: false, error: known, value: answer.peek().value };
  }
}

/** Now, once a second while the view is shown: for ages. */
const now = signal(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): ReadonlySignal<number> {
  useEffect(() => {
    watchers += 1;
    timer ??= setInterval(() => (now.value = Date.now()), 1000);
    return () => {
      watchers -= 1;
      if (watchers === 0) {
        clearInterval(timer);
        timer = undefined;
      }
    };
  }, []);
  return now;
}

/** Sets the title of the page while the view is shown. */
export function useTitle(text: () => string): void {
  useSignalEffect(() => {
    document.title = `${text()} · Portcullis`;
  });
}
