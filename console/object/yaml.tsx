// The tab with the object as YAML, which the user can change. A change is first sent as a dry run and the result is
// compared. Only the difference is sent, with the resourceVersion that was read, so that the cluster refuses it if
// somebody has changed the object meanwhile.
import { useSignal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { pathOfPlace, paths } from '../api/kube.ts';
import type { KubeObject } from '../api/kube.ts';
import { isProtected, kubectl, kubectlName } from './object-view.ts';
import type { ObjectView } from './object-view.ts';
import { Confirm } from '../parts/confirm.tsx';
import { CommandLine, Loading, Notice, Problem } from '../parts/parts.tsx';
import { ApiError, askJson } from '../api/api.ts';
import { part } from '../session/own-build.ts';
import { messageOf } from '../session/session.ts';
import type { Editor } from './editor.ts';

type Step =
  | { readonly at: 'reading' }
  | { readonly at: 'editing'; readonly fault?: ApiError | string }
  | {
      readonly at: 'comparing';
      readonly patch: string;
      readonly before: string;
      readonly after: string;
      readonly fault?: ApiError | string;
    };

const mergePatch = 'application/merge-patch+json';

/** The state of the tab while the user edits the YAML. */
interface Editing {
  readonly step: Signal<Step>;
  readonly busy: Signal<boolean>;
  readonly managed: Signal<boolean>;
  /** The text in the editor; undefined while the user has not changed anything. */
  readonly typed: { current: string | undefined };
  /** The object as the user began to edit it; the difference to it is sent. */
  readonly base: KubeObject;
  /** True while the dialog is open in which the user types the name of a protected cluster. */
  readonly asks: Signal<boolean>;
  /** Sends the change as a dry run, and shows how the object would differ. */
  compare(): Promise<void>;
  /** Sends the change. Rejects with the ApiError when the cluster refuses it. */
  apply(): Promise<void>;
}

function useEditing({ place, object, again }: ObjectView): Editing {
  const step = useSignal<Step>({ at: 'reading' });
  const busy = useSignal(false);
  const managed = useSignal(false);
  const asks = useSignal(false);
  const typed = useRef<string>(undefined);
  // While the user edits, the text is compared with the object as it was when editing began, even if the page has read
  // a newer one.
  const base = useRef(object);
  // After a change, the cluster's answer is shown until the page has read the object again.
  const applied = useRef<{ readonly from: KubeObject; readonly to: KubeObject }>(undefined);
  if (step.value.at === 'reading') base.current = applied.current?.from === object ? applied.current.to : object;
  const send = (dryRun: boolean, body: string): Promise<KubeObject> => {
    const query = `fieldManager=portcullis-console&fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
    return askJson<KubeObject>(`${paths.cluster(place.cluster)}${pathOfPlace(place)}?${query}`, {
      method: 'PATCH',
      type: mergePatch,
      body,
    });
  };
  const compare = async (): Promise<void> => {
    busy.value = true;
    try {
      const { read, write, difference } = await part(() => import('./document.ts'));
      const patch = difference(readable(base.current, managed.value), read(typed.current ?? ''));
      if (patch === undefined) throw new Error('Nothing is changed.');
      const { resourceVersion } = base.current.metadata;
      const body = JSON.stringify({ ...patch, metadata: { ...(patch['metadata'] as object), resourceVersion } });
      const after = write(readable(await send(true, body), false));
      step.value = { at: 'comparing', patch: body, before: write(readable(base.current, false)), after };
    } catch (error) {
      step.value = { at: 'editing', fault: error instanceof ApiError ? error : messageOf(error) };
    }
    busy.value = false;
  };
  const apply = async (): Promise<void> => {
    const compared = step.value as Extract<Step, { at: 'comparing' }>;
    if (!asks.value && (await isProtected(place.cluster))) return void (asks.value = true);
    busy.value = true;
    try {
      applied.current = { from: object, to: await send(false, compared.patch) };
      typed.current = undefined;
      again();
      step.value = { at: 'reading' };
    } catch (error) {
      step.value =
        error instanceof ApiError ? { ...compared, fault: error } : { at: 'editing', fault: messageOf(error) };
    }
    asks.value = busy.value = false;
  };
  return { step, busy, managed, typed, base: base.current, asks, compare, apply };
}

export function YamlTab(view: ObjectView): JSX.Element {
  const { place, object, isCopy } = view;
  const editing = useEditing(view);
  const { step, managed, typed, base, asks } = editing;
  const isSecret = object.kind === 'Secret';
  const now = step.value;
  const isRead = now.at === 'reading';
  return (
    <>
      <Tools editing={editing} canEdit={!isCopy && !isSecret} />
      {isSecret && <p class="quiet">The values of a Secret are not shown here; the summary shows them one by one.</p>}
      {!isRead && now.fault !== undefined && <Fault fault={now.fault} />}
      {asks.value && (
        <Confirm
          title={`Change ${object.kind} ${place.name}?`}
          place={place}
          word={place.cluster}
          action="Apply this change"
          onYes={() => editing.apply()}
          onClose={() => (asks.value = false)}
        >
          <p>{place.cluster} is a protected cluster.</p>
        </Confirm>
      )}
      {now.at === 'comparing' ? (
        <TextView
          key="diff"
          text={now.after}
          before={now.before}
          label={`What would change in ${place.name} in ${place.cluster}`}
        />
      ) : (
        <TextView
          key={`${now.at} ${managed.value} ${base.metadata.resourceVersion}`}
          text={typed.current}
          object={readable(base, managed.value)}
          label={`YAML of ${place.name}`}
          onType={isRead ? undefined : (text) => (typed.current = text)}
        />
      )}
      <CommandLine
        line={`${kubectl(place)} ${isRead ? 'get' : 'edit'} ${kubectlName(place)}${isRead ? ' -o yaml' : ''}`}
      />
    </>
  );
}

function Tools({ editing, canEdit }: { editing: Editing; canEdit: boolean }): JSX.Element {
  const { step, managed, compare, apply } = editing;
  const busy = editing.busy.value;
  const to = (at: 'reading' | 'editing') => (): void => void (step.value = { at });
  const { at } = step.value;
  return (
    <div class="tools">
      {at === 'reading' && (
        <>
          {canEdit && (
            <button type="button" class="main" onClick={to('editing')}>
              Edit
            </button>
          )}
          <label>
            <input type="checkbox" checked={managed} onChange={() => (managed.value = !managed.value)} /> managed fields
          </label>
        </>
      )}
      {at === 'editing' && (
        <>
          <button type="button" class="main" disabled={busy} onClick={() => void compare()}>
            {busy ? 'Trying it …' : 'Try it and compare'}
          </button>
          <button type="button" onClick={to('reading')}>
            Stop editing
          </button>
        </>
      )}
      {at === 'comparing' && (
        <>
          <button type="button" class="main" disabled={busy} onClick={() => void apply()}>
            {busy ? 'Applying …' : 'Apply this change'}
          </button>
          <button type="button" onClick={to('editing')}>
            Go on editing
          </button>
          <span class="quiet">The cluster has tried it without keeping it. This is what would change.</span>
        </>
      )}
    </div>
  );
}

function Fault({ fault }: { fault: ApiError | string }): JSX.Element {
  if (fault instanceof ApiError) return <Problem error={fault} />;
  return <Notice tone="warn" title={fault} />;
}

/**
 * Returns the object as the tab shows it: a Secret without its values, and without managedFields unless `managed` is
 * true.
 */
function readable(object: KubeObject, managed: boolean): KubeObject {
  const { warnings: _warnings, ...own } = object;
  const { managedFields, ...metadata } = own['metadata'] as KubeObject['metadata'] & { managedFields?: unknown };
  const shown = {
    ...own,
    metadata: managed && managedFields !== undefined ? { ...metadata, managedFields } : metadata,
  } as KubeObject;
  if (object.kind !== 'Secret') return shown;
  const hide = (values: unknown): object =>
    Object.fromEntries(Object.keys((values ?? {}) as object).map((key) => [key, '(not shown)']));
  const { 'kubectl.kubernetes.io/last-applied-configuration': _last, ...annotations } = metadata.annotations ?? {};
  return { ...shown, data: hide(object['data']), metadata: { ...metadata, annotations } };
}

interface TextViewProps {
  /** The text to show; undefined shows `object` as YAML. */
  readonly text: string | undefined;
  readonly object?: KubeObject;
  /** A text with which the shown text is compared; differences are marked. */
  readonly before?: string;
  readonly label: string;
  /** Called with the text after each change; undefined makes the text read-only. */
  readonly onType?: ((text: string) => void) | undefined;
}

function TextView({ text, object, before, label, onType }: TextViewProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const ready = useSignal(false);
  const fault = useSignal('');
  useEffect(() => {
    let editor: Editor | undefined;
    let gone = false;
    void part(() => Promise.all([import('./editor.ts'), import('./document.ts')])).then(
      ([{ openEditor }, { write }]) => {
        if (gone || box.current === null) return;
        ready.value = true;
        editor = openEditor(box.current, { text: text ?? write(object), before, label, onType });
      },
      (error: unknown) => (fault.value = messageOf(error)),
    );
    return () => {
      gone = true;
      editor?.close();
    };
  }, []);
  return (
    <>
      {fault.value !== '' && <Fault fault={fault.value} />}
      {!ready.value && fault.value === '' && <Loading what="the text" />}
      <div class="editor" ref={box} />
    </>
  );
}
