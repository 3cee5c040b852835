// The button that deletes an object, and the dialog in which the user confirms it.
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { isAt, pathOfPlace, paths } from '../api/kube.ts';
import { mayDo } from '../live/rights.ts';
import { useAnswer } from '../live/resource.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Loading, Notice, Problem } from '../parts/parts.tsx';
import { address, go } from '../api/route.ts';
import { askJson } from '../api/api.ts';
import { isProtected } from './object-view.ts';
import type { ObjectView } from './object-view.ts';

export function DeleteButton(view: ObjectView): JSX.Element {
  const open = useSignal(false);
  return (
    <>
      <button type="button" class="danger" onClick={() => (open.value = true)}>
        Delete …
      </button>
      {open.value && <Question view={view} onClose={() => (open.value = false)} />}
    </>
  );
}

function Question({ view, onClose }: { view: ObjectView; onClose: () => void }): JSX.Element {
  const { place, object } = view;
  const { answer } = useAnswer(async (signal) => {
    const { group, plural: resource, namespace, name } = place;
    const [right, careful] = await Promise.all([
      mayDo(place.cluster, { verb: 'delete', group, resource, namespace, name }, signal),
      isProtected(place.cluster, signal),
    ]);
    return { ...right, careful };
  }, '');
  const { value, error, loading } = answer.value;
  if (!isAt(place, object))
    return (
      <Notice tone="warn" title="This cannot be deleted here">
        <p>The cluster answered something else than the one object that the address names.</p>
      </Notice>
    );
  if (loading) return <Loading what="your rights" />;
  if (error) return <Problem error={error} />;
  if (!value?.allowed)
    return (
      <Notice tone="warn" title={`${place.cluster} does not let you`}>
        <p>
          It takes the right to delete <code>{place.plural}</code>. {value?.reason}
        </p>
      </Notice>
    );
  const onYes = async (): Promise<void> => {
    // With the UID, an object that was created under the same name meanwhile is not deleted.
    const body = JSON.stringify({ propagationPolicy: 'Background', preconditions: { uid: object.metadata.uid } });
    await askJson(paths.cluster(place.cluster) + pathOfPlace(place), { method: 'DELETE', body });
    go(address(['search'], { kind: place.group === '' ? place.plural : `${place.plural}.${place.group}` }));
  };
  return (
    <Confirm
      title={`Delete ${object.kind} ${place.name}?`}
      place={place}
      word={value.careful ? `${place.cluster}/${place.name}` : place.name}
      action="Delete it"
      onYes={onYes}
      onClose={onClose}
    >
      <p>What it owns is deleted with it.{value.careful && ` ${place.cluster} is a protected cluster.`}</p>
    </Confirm>
  );
}
