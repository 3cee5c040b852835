// Hooks for views that show the answer to one request, and not a table that is kept up to date by a watch.
import { signal, useSignalEffect } from '@preact/signals';
import type { ReadonlySignal, Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError } from '../api/api.ts';

/** The state of a request. `value` is the answer; after an error it is the answer before that, if there was one. */
export interface Answer<T> {
  readonly loading: boolean;
  readonly value?: T | undefined;
  readonly error?: ApiError | undefined;
}

/**
 * Sends a request when the view appears and each time `key` changes. A request that is still open then is aborted.
 * @param question sends the request
 * @param key changes when the request has to be sent again
 * @returns the answer, and a function that sends the request again
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

/** The present time in Unix milliseconds, renewed every second while a view uses it. */
const now = signal(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): ReadonlySignal<number> {
  useEffect(() => {
    watchers += 1;
    if (timer === undefined) now.value = Date.now();
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

/** Sets the title of the page, and again when a signal that `text` reads changes. */
export function useTitle(text: () => string): void {
  useSignalEffect(() => {
    document.title = `${text()} · Portcullis`;
  });
}
