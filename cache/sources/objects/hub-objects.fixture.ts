// Simulates a hub for tests of sources: reads objects from fixture files and returns what each watch would receive.
// Label and field selectors are applied, so that a source with a wrong selector fails in the test.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { testKeyPair } from '../../../test/pretend/certificates.ts';
import type { ApiObject, ApiObjects, WatchedResource } from '../../../kube/types.ts';
import type { HubSource } from '../hub-source.ts';
import type { ClusterSpec, Credential } from '../../../model/records.ts';

/** The texts that replace `{{NAME}}` in a fixture file. `{{NAME|base64}}` is replaced by the text in base64. */
export type Values = Readonly<Record<string, string>>;

/** PEM texts for fixtures: two CA certificates, and a client certificate with its key. */
export async function certificateValues(): Promise<Values & Readonly<Record<'CA' | 'CA2' | 'CERT' | 'KEY', string>>> {
  const [one, two, client] = await Promise.all(['ca-1', 'ca-2', 'gateway'].map(testKeyPair));
  const trimmed = (text: string | undefined): string => `${(text ?? '').trim()}\n`;
  return { CA: trimmed(one?.cert), CA2: trimmed(two?.cert), CERT: trimmed(client?.cert), KEY: trimmed(client?.key) };
}

/**
 * The objects of fixtures/<name>.yaml as an API server would return them, with `stringData` moved into `data`.
 * @param edit changes the text of the file before it is parsed
 */
export function readObjects(
  name: string,
  values: Values,
  edit: (text: string) => string = (text) => text,
): readonly ApiObject[] {
  const text = readFileSync(join(import.meta.dirname, 'fixtures', `${name}.yaml`), 'utf8');
  return parseAllDocuments(edit(text)).map((document) => stored(fill(document.toJS(), values) as ApiObject));
}

/** The object as an API server would store it: `stringData` becomes base64 in `data`. */
export function stored(object: ApiObject): ApiObject {
  const { stringData, ...rest } = object;
  if (stringData === undefined) return object;
  const added = Object.entries(stringData as Values).map(([key, text]) => [key, base64(text)]);
  return { ...rest, metadata: object.metadata, data: { ...(object['data'] as object), ...Object.fromEntries(added) } };
}

/** A changed copy of the object with the next resourceVersion. @param change edits the copy; it may set `stringData` */
export function changed(object: ApiObject, change: (copy: Record<string, any>) => void): ApiObject {
  const copy = structuredClone(object) as unknown as Record<string, any>;
  change(copy);
  copy['metadata'].resourceVersion = String(Number(copy['metadata'].resourceVersion) + 1);
  return stored(copy as unknown as ApiObject);
}

/** A copy of a Secret with some keys replaced. The values are plain text; undefined removes the key. */
export function withData(secret: ApiObject, texts: Readonly<Record<string, string | undefined>>): ApiObject {
  return changed(secret, (copy) => {
    for (const [key, text] of Object.entries(texts)) {
      if (text === undefined) delete copy['data'][key];
      else copy['data'][key] = base64(text);
    }
  });
}

export function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

/**
 * The specs that a source returns when the hub has these objects. Each watch of the source sees only the objects that
 * its selectors match.
 */
export function compiled(source: HubSource, objects: readonly ApiObject[]): readonly ClusterSpec[] {
  return source.compile(source.watches.map((watch) => seenBy(watch, objects)));
}

/** The cluster of that name. Throws when there is none, or more than one. */
export function clusterNamed(specs: readonly ClusterSpec[], name: string): ClusterSpec {
  const found = specs.filter((spec) => spec.name === name);
  if (found.length !== 1 || found[0] === undefined) {
    throw new Error(`${found.length} clusters ${name} among ${specs.map((spec) => spec.name).join(', ')}`);
  }
  return found[0];
}

/** The cluster's credential. Throws unless the credential is available without waiting. */
export function credentialOf(spec: ClusterSpec): Credential {
  const credential = spec.credential?.current();
  if (credential === undefined || credential instanceof Promise) throw new Error(`${spec.name}: no credential at hand`);
  return credential;
}

const plurals: Readonly<Record<string, string>> = {
  Secret: 'secrets',
  ManagedCluster: 'managedclusters',
  Cluster: 'clusters',
  ClusterSyncResources: 'clustersyncresources',
  PediaCluster: 'pediaclusters',
};

/** The objects that a list of this resource with these selectors returns, by `namespace/name`. */
export function seenBy(watch: WatchedResource, objects: readonly ApiObject[]): ApiObjects {
  const apiVersion = watch.group === '' ? watch.version : `${watch.group}/${watch.version}`;
  const found = objects.filter((object) => {
    const { namespace } = object.metadata;
    return (
      object['apiVersion'] === apiVersion &&
      plurals[String(object['kind'])] === watch.resource &&
      (watch.namespace === undefined || watch.namespace === namespace) &&
      hasLabel(object, watch.labelSelector) &&
      hasField(object, watch.fieldSelector)
    );
  });
  return new Map(
    found.map((object) => {
      const { namespace, name } = object.metadata;
      return [namespace === undefined ? name : `${namespace}/${name}`, object];
    }),
  );
}

function hasLabel({ metadata }: ApiObject, selector: string | undefined): boolean {
  if (selector === undefined) return true;
  const [key = '', value] = selector.split('=');
  const label = metadata.labels?.[key];
  return value === undefined ? label !== undefined : label === value;
}

function hasField(object: ApiObject, selector: string | undefined): boolean {
  if (selector === undefined) return true;
  const [field, value] = selector.split(/!?=/);
  const isWanted = !selector.includes('!=');
  if (field === 'metadata.name') return (object.metadata.name === value) === isWanted;
  if (field === 'type') return (object['type'] === value) === isWanted;
  throw new Error(`Secrets have no field selector ${String(field)}`);
}

function fill(value: unknown, values: Values): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(/\{\{([A-Z0-9]+)(\|base64)?\}\}/g, (_, name: string, encoded?: string) => {
      const text = values[name];
      if (text === undefined) throw new Error(`no value for ${name}`);
      return encoded === undefined ? text : base64(text);
    });
  }
  if (Array.isArray(value)) return value.map((each) => fill(each, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each, values)]));
}
