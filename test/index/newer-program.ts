// Loaded before the gateway (`NODE_OPTIONS=--import`), makes it a program of a newer release: one that writes rows in a
// newer form, because it makes one more value of ConfigMaps searchable.
import { registerHooks } from 'node:module';

/** What the newer release has changed: in which file, and which text became which. */
const changes = [
  ['/store/row-form.ts', 'rowForm: number = 1;', 'rowForm: number = 2;'],
  ['/store/indexed-paths.ts', "['pods.', ofPods],", "['pods.', ofPods], ['configmaps.', ['data.value']],"],
  ['/store/indexed-paths.ts', '> = new Map();', "> = new Map([['configmaps. data.value', 2]]);"],
] as const;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const wanted = changes.filter(([file]) => url.endsWith(file));
    if (wanted.length === 0) return loaded;
    let source = String(loaded.source);
    for (const [file, before, after] of wanted) {
      if (!source.includes(before)) throw new Error(`${file} has no "${before}": adapt this test`);
      source = source.replace(before, after);
    }
    return { ...loaded, source };
  },
});
