// A dialog before a change that may do harm. It shows the cluster and namespace of the change, and enables the button
// only when the user has typed a name.
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ObjectPlace } from '../api/kube.ts';
import { ApiError } from '../api/api.ts';
import { Problem } from './parts.tsx';

interface ConfirmProps {
  readonly title: string;
  readonly place: Pick<ObjectPlace, 'cluster' | 'namespace'>;
  /** The name that the user has to type. */
  readonly word: string;
  /** Label of the button. */
  readonly action: string;
  /** Makes the change. If it rejects with an ApiError, the dialog stays open and shows the error. */
  readonly onYes: () => Promise<void>;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

export function Confirm({ title, place, word, action, onYes, onClose, children }: ConfirmProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal('');
  const busy = useSignal(false);
  const fault = useSignal<ApiError | undefined>(undefined);
  useEffect(() => dialog.current?.showModal(), []);
  const onSubmit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    busy.value = true;
    try {
      await onYes();
      dialog.current?.close();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      fault.value = error;
    } finally {
      busy.value = false;
    }
  };
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="confirm-title">
      <p class="place">
        in <strong>{place.cluster}</strong>
        {place.namespace !== undefined && (
          <>
            , namespace <strong>{place.namespace}</strong>
          </>
        )}
      </p>
      <h2 id="confirm-title">{title}</h2>
      {children}
      {fault.value && <Problem error={fault.value} />}
      <form onSubmit={(event) => void onSubmit(event)}>
        <label for="confirm-word">
          Type <code>{word}</code> to go on
        </label>
        <input
          id="confirm-word"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
        <div class="tools">
          <button type="submit" class="danger" disabled={busy.value || typed.value !== word}>
            {action}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Leave it as it is
          </button>
        </div>
      </form>
    </dialog>
  );
}
