// Columns and cells of the index equal those of a real kube-apiserver, for every type it serves. Ages pass between the
// two answers, so durations are compared by their length.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { compilePaths, readPaths } from '../../../query/json-path.ts';
import { parsePath } from '../../../query/path.ts';
import { tableOf } from '../../../search/table/table.ts';
import type { TypeInfo } from '../../../query/types.ts';
import type { PrinterColumn } from '../../../tables/printer-column.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { inCluster, inNamespace, ns } from '../kubectl/table-object.ts';
import type { TableObject } from '../kubectl/table-object.ts';
import { networkObjects } from '../kubectl/table-objects-network.ts';
import {
  accessObjects,
  clusterObjects,
  coreObjects,
  customObjects,
  customTypes,
  storageObjects,
} from '../kubectl/table-objects-others.ts';
import { podObjects, workloadObjects } from '../kubectl/table-objects-workloads.ts';

const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';

interface MemberTable {
  readonly kind: string;
  readonly columnDefinitions: readonly object[];
  readonly rows: readonly {
    readonly cells: readonly unknown[];
    readonly conditions?: readonly object[];
    readonly object: { readonly metadata: { readonly name: string; readonly namespace?: string } };
  }[];
}

/** A type the member serves, where it is listed, and in which version. */
interface Served {
  readonly type: TypeInfo;
  readonly path: string;
}

let plane: ControlPlane;
let member: Member;

before(async () => {
  plane = await startControlPlane({ members: ['m1'], apiserverArgs: ['--runtime-config=api/all=true'] });
  member = plane.member('m1');
  const account = inNamespace('v1', 'ServiceAccount', 'serviceaccounts')('default', {});
  await create([inCluster('v1', 'Namespace', 'namespaces')(ns, {}), account, ...customTypes()]);
  const objects = [
    podObjects,
    workloadObjects,
    networkObjects,
    coreObjects,
    storageObjects,
    accessObjects,
    clusterObjects,
  ];
  await create(objects.flatMap((make) => make()));
  await untilServed('/apis/x.io/v1/things');
  await create(customObjects());
  await answer('DELETE', `/api/v1/namespaces/${ns}/pods/deleting`);
});

after(() => plane?.stop());

async function answer(
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
): Promise<string> {
  const { status, body: text } = await member.request(method, path, body, headers);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text} for ${JSON.stringify(body)}`);
  return text;
}

/** Makes all of them; what was refused is told together. */
async function create(objects: readonly TableObject[]): Promise<void> {
  const refused: string[] = [];
  for (const { path, object, status } of objects) {
    const { name } = object['metadata'] as { readonly name: string };
    const patch = { 'content-type': 'application/merge-patch+json' };
    const make = answer('POST', path, object).then(() =>
      status === undefined ? '' : answer('PATCH', `${path}/${name}/status`, { status }, patch),
    );
    await make.catch((error: unknown) => refused.push(String(error)));
  }
  assert.deepEqual(refused, []);
}

async function untilServed(path: string): Promise<void> {
  for (let tries = 0; (await member.request('GET', path)).status !== 200; tries++) {
    assert.ok(tries < 200, `${path} is not served`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Every type that can be listed, in the preferred version of its group. */
async function servedTypes(): Promise<readonly Served[]> {
  const { groups } = JSON.parse(await answer('GET', '/apis')) as {
    groups: readonly { readonly name: string; readonly preferredVersion: { readonly groupVersion: string } }[];
  };
  const roots = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const custom = await customColumns();
  const served: Served[] = [];
  for (const root of roots) {
    const { status, body } = await member.request('GET', root);
    if (status !== 200) continue;
    const { resources, groupVersion } = JSON.parse(body) as {
      readonly groupVersion: string;
      readonly resources: readonly {
        readonly name: string;
        readonly kind: string;
        readonly namespaced: boolean;
        readonly verbs: readonly string[];
      }[];
    };
    const group = groupVersion.includes('/') ? groupVersion.split('/')[0]! : '';
    for (const { name, kind, namespaced, verbs } of resources) {
      if (name.includes('/') || !verbs.includes('list')) continue;
      const version = groupVersion.split('/').at(-1)!;
      const printerColumns = custom.get(`${name}.${group}`);
      const type: TypeInfo = {
        group,
        resource: name,
        version,
        versions: [version],
        kind,
        singular: '',
        shortNames: [],
        categories: [],
        namespaced,
        convertible: false,
        ...(printerColumns === undefined ? {} : { printerColumns }),
      };
      served.push({ type, path: `${root}/${name}` });
    }
  }
  return served;
}

async function customColumns(): Promise<ReadonlyMap<string, Readonly<Record<string, readonly PrinterColumn[]>>>> {
  const { items } = JSON.parse(await answer('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions')) as {
    items: readonly {
      readonly metadata: { readonly name: string };
      readonly spec: {
        readonly versions: readonly {
          readonly name: string;
          readonly additionalPrinterColumns?: readonly PrinterColumn[];
        }[];
      };
    }[];
  };
  return new Map(
    items.map(({ metadata, spec }) => [
      metadata.name,
      Object.fromEntries(
        spec.versions.map(({ name, additionalPrinterColumns = [] }) => [name, additionalPrinterColumns]),
      ),
    ]),
  );
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, y: 365 * 86_400 };
const duration = /^(?:\d+[smhdy]){1,2}$/;
const ago = / \((\w+) ago\)$/;

function seconds(text: string): number {
  return [...text.matchAll(/(\d+)([smhdy])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * unitSeconds[unit!]!,
    0,
  );
}

/** Our cell, or the member's where both are durations that differ by what may pass between two answers. */
function aligned(ours: unknown, theirs: unknown): unknown {
  if (typeof ours !== 'string' || typeof theirs !== 'string') return ours;
  const [mine, other] = [ago.exec(ours)?.[1] ?? ours, ago.exec(theirs)?.[1] ?? theirs];
  if (!duration.test(mine) || !duration.test(other) || Math.abs(seconds(mine) - seconds(other)) > 30) return ours;
  return ours.replace(mine, other);
}

const itemsPath = compilePaths([
  parsePath('items[]', true),
  parsePath('items[].metadata.name'),
  parsePath('items[].metadata.namespace'),
]);

/** Items of a list as bytes, by namespace and name. */
function itemsOf(list: string): ReadonlyMap<string, Buffer> {
  const bytes = Buffer.from(list);
  const [items] = readPaths(bytes, itemsPath);
  return new Map(
    items!.map(({ start, end }) => {
      const raw = bytes.subarray(start, end);
      return [keyOf(JSON.parse(raw.toString()) as { metadata: { name: string; namespace?: string } }), raw];
    }),
  );
}

function keyOf({ metadata }: { readonly metadata: { readonly name: string; readonly namespace?: string } }): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

test("every table equals the member's: columns, cells but for durations, and conditions of rows", async (context) => {
  const types = await servedTypes();
  let rows = 0;
  const withRows = new Set<string>();
  for (const { type, path } of types) {
    await context.test(path, async () => {
      const list = itemsOf(await answer('GET', path));
      const table = JSON.parse(await answer('GET', path, undefined, { accept: asTable })) as MemberTable;
      assert.equal(table.kind, 'Table');
      const ours = tableOf(type, type.version, Date.now());
      assert.deepEqual(ours.columns.slice(1), table.columnDefinitions);
      for (const { cells, conditions, object } of table.rows) {
        const raw = list.get(keyOf(object));
        if (raw === undefined) continue; // made or removed between the two answers, as the member's own leases are
        const row = JSON.parse(JSON.stringify(ours.row({ cluster: 'm1', raw }))) as {
          cells: unknown[];
          conditions?: object[];
        };
        assert.equal(row.cells[0], 'm1');
        const mine = row.cells.slice(1).map((cell, i) => aligned(cell, cells[i]));
        assert.deepEqual(mine, cells, `${keyOf(object)} ${raw.toString()}`);
        assert.deepEqual(row.conditions, conditions);
        rows += 1;
        withRows.add(path);
      }
    });
  }
  context.diagnostic(
    `${types.length} types, ${withRows.size} with objects, ${rows} rows; none of: ${types
      .map(({ path }) => path)
      .filter((path) => !withRows.has(path))
      .join(' ')}`,
  );
  assert.ok(types.length > 60 && withRows.size > 50 && rows > 200);
});
