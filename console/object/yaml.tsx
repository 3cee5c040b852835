// The tab with the object as YAML, to read, change, try by a dry run, compare and send. Only the difference is sent,
// with the resourceVersion that was read, so the cluster refuses it if somebody changed the object meanwhile.
import { useSignal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { pathOfPlace, paths } from '../kube.ts';
import type { KubeObject } from '../kube.ts';
import { kubectl, kubectlName } from './object-view.ts';
import type { ObjectView } from './object-view.ts';
import { CommandLine, Loading, Notice, Problem } from '../parts/parts.tsx';
import { ApiError, askJson } from '../session/api.ts';
import type { Editor } from './editor.ts';

type Step =
  | { readonly at: 'reading' }
  | { readonly at: 'editing'; readonly fault?: ApiError | string }
  | {
      readonly at: 'comparing';
      readonly patch: string;
      readonly before: string;
      readonly after: string;
      readonly fault?: ApiError;
    };

const mergePatch = 'application/merge-patch+json';

export function YamlTab({ place, object, isCopy, again }: ObjectView): JSX.Element {
  const step = useSignal<Step>({ at: 'reading' });
  const busy = useSignal(false);
  const managed = useSignal(false);
  const typed = useRef<string>(undefined);
  const isSecret = object.kind === 'Secret';
  // While somebody edits, changes are compared with the object as it was when editing began, even if the page reads it
  // again.
  const base = useRef(object);
  if (step.value.at === 'reading') base.current = object;
  const send = async (dryRun: boolean, patch: string): Promise<KubeObject> => {
    const query = `fieldManager=portcullis-console&fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
    return askJson<KubeObject>(`${paths.cluster(place.cluster)}${pathOfPlace(place)}?${query}`, {
      method: 'PATCH',
      type: mergePatch,
      body: patch,
    });
  };
  const attempt = async (work: () => Promise<Step>, onFault: (error: ApiError | string) => Step): Promise<void> => {
    busy.value = true;
    step.value = await work().catch((error: unknown) => onFault(error instanceof ApiError ? error : String(error)));
    busy.value = false;
  };
  const compare = (): Promise<void> =>
    attempt(
      async () => {
        const { read, write, difference } = await import('./document.ts');
        const wanted = read(typed.current ?? '');
        const patch = difference(readable(base.current, managed.value), wanted);
        if (patch === undefined) return { at: 'editing', fault: 'Nothing is changed.' };
        const versioned = {
          ...patch,
          metadata: { ...(patch['metadata'] as object), resourceVersion: base.current.metadata.resourceVersion },
        };
        const text = JSON.stringify(versioned);
        const after = await send(true, text);
        return {
          at: 'comparing',
          patch: text,
          before: write(readable(base.current, false)),
          after: write(readable(after, false)),
        };
      },
      (fault) => ({ at: 'editing', fault }),
    );
  const apply = (): Promise<void> =>
    attempt(
      async () => {
        await send(false, (step.value as { patch: string }).patch);
        typed.current = undefined;
        again();
        return { at: 'reading' };
      },
      (fault) =>
        fault instanceof ApiError
          ? { ...(step.value as Extract<Step, { at: 'comparing' }>), fault }
          : { at: 'editing', fault },
    );
  const now = step.value;
  return (
    <>
      <Tools
        step={step}
        busy={busy.value}
        managed={managed}
        canEdit={!isCopy && !isSecret}
        onCompare={compare}
        onApply={apply}
      />
      {isSecret && <p class="quiet">The values of a Secret are not shown here; the summary shows them one by one.</p>}
      {now.at === 'editing' && now.fault !== undefined && <Fault fault={now.fault} />}
      {now.at === 'comparing' && now.fault && <Fault fault={now.fault} />}
      {now.at === 'comparing' ? (
        <TextView
          key="diff"
          text={now.after}
          before={now.before}
          label={`What would change in ${place.name} in ${place.cluster}`}
        />
      ) : (
        <TextView
          key={`${now.at} ${managed.value} ${object.metadata.resourceVersion}`}
          text={typed.current}
          object={readable(base.current, managed.value)}
          label={`YAML of ${place.name}`}
          onType={now.at === 'editing' ? (text) => (typed.current = text) : undefined}
        />
      )}
      <CommandLine
        line={`${kubectl(place)} ${now.at === 'reading' ? 'get' : 'edit'} ${kubectlName(place)}${now.at === 'reading' ? ' -o yaml' : ''}`}
      />
    </>
  );
}

interface ToolsProps {
  readonly step: Signal<Step>;
  readonly busy: boolean;
  readonly managed: Signal<boolean>;
  readonly canEdit: boolean;
  readonly onCompare: () => Promise<void>;
  readonly onApply: () => Promise<void>;
}

function Tools({ step, busy, managed, canEdit, onCompare, onApply }: ToolsProps): JSX.Element {
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
          <button type="button" class="main" disabled={busy} onClick={() => void onCompare()}>
            {busy ? 'Trying it …' : 'Try it and compare'}
          </button>
          <button type="button" onClick={to('reading')}>
            Stop editing
          </button>
        </>
      )}
      {at === 'comparing' && (
        <>
          <button type="button" class="main" disabled={busy} onClick={() => void onApply()}>
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
 * Returns the object as it is shown: a Secret without its values, and without managedFields unless `managed` is set.
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
  /** The text that the shown text is compared with. */
  readonly before?: string;
  readonly label: string;
  /** Called with the text after each change; undefined makes the text read-only. */
  readonly onType?: ((text: string) => void) | undefined;
}

function TextView({ text, object, before, label, onType }: TextViewProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const ready = useSignal(false);
  useEffect(() => {
    let editor: Editor | undefined;
    let gone = false;
    void Promise.all([import('./editor.ts'), import('./document.ts')]).then(([{ openEditor }, { write }]) => {
      if (gone || box.current === null) return;
      ready.value = true;
      editor = openEditor(box.current, { text: text ?? write(object), before, label, onType });
    });
    return () => {
      gone = true;
      editor?.close();
    };
  }, []);
  return (
    <>
      {!ready.value && <Loading what="the text" />}
      <div class="editor" ref={box} />
    </>
  );
}
