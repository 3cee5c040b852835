// Reads from CustomResourceDefinitions the few facts that the index needs: storage version, conversion, printer
// columns. All else of a CRD is dropped, because its schemas can be large.
import type { PrinterColumn } from '../../tables/printer-column.ts';
import { parseLimited } from '../../lib/json/value-count.ts';

/** The few facts about one CRD that the index uses. */
export interface CustomType {
  readonly group: string;
  readonly resource: string;
  readonly storageVersion: string;
  /** True when the CRD's conversion strategy is None, so that objects of its versions differ only in apiVersion. */
  readonly convertible: boolean;
  /** The additionalPrinterColumns of each served version, by the name of the version. */
  readonly printerColumns: Readonly<Record<string, readonly PrinterColumn[]>>;
}

/** The facts about all CRDs of one member cluster, updated as CRDs change. */
export interface CustomTypes {
  /** Returns the facts about a CRD; undefined when there is no CRD of this name. @param name `<resource>.<group>` */
  get(name: string): CustomType | undefined;
  /** The names of all CRDs that serve a version. */
  served(): readonly string[];
  /** Takes the JSON of a CRD. Returns true when a field of its CustomType changed; false for JSON that is not a CRD. */
  put(object: Buffer): boolean;
  remove(object: Buffer): boolean;
}

export function makeCustomTypes(): CustomTypes {
  const types = new Map<string, { readonly type: CustomType; readonly text: string }>();
  return {
    get: (name) => types.get(name)?.type,
    served: () =>
      [...types].filter(([, { type }]) => Object.keys(type.printerColumns).length > 0).map(([name]) => name),
    put(object) {
      const read = readCustomType(object);
      if (read === undefined) return false;
      const [name, type] = read;
      const text = JSON.stringify(type);
      if (types.get(name)?.text === text) return false;
      types.set(name, { type, text });
      return true;
    },
    remove(object) {
      const read = readCustomType(object);
      return read !== undefined && types.delete(read[0]);
    },
  };
}

/** Parses the JSON of an apiextensions.k8s.io/v1 CustomResourceDefinition; undefined when it is something else. */
function readCustomType(object: Buffer): readonly [name: string, type: CustomType] | undefined {
  let crd: Partial<Definition>;
  try {
    crd = parseLimited(object) as Partial<Definition>;
  } catch {
    return undefined;
  }
  const { spec } = crd;
  const resource = spec?.names?.plural;
  if (typeof spec?.group !== 'string' || typeof resource !== 'string' || !Array.isArray(spec.versions))
    return undefined;
  const versions = spec.versions.filter((version) => typeof version?.name === 'string');
  const type: CustomType = {
    group: spec.group,
    resource,
    storageVersion: versions.find(({ storage }) => storage === true)?.name ?? '',
    // A missing strategy means None (defaulting of apiextensions).
    convertible: (spec.conversion?.strategy ?? 'None') === 'None',
    printerColumns: Object.fromEntries(
      versions
        .filter(({ served }) => served === true)
        .map(({ name, additionalPrinterColumns }) => [name, columnsOf(additionalPrinterColumns)]),
    ),
  };
  return [`${resource}.${spec.group}`, type];
}

/** The fields of a CRD that are read. A member cluster may send anything, so each field is checked before its use. */
interface Definition {
  readonly spec: {
    readonly group: unknown;
    readonly names?: { readonly plural?: unknown };
    readonly conversion?: { readonly strategy?: unknown };
    readonly versions: readonly {
      readonly name: string;
      readonly served?: unknown;
      readonly storage?: unknown;
      readonly additionalPrinterColumns?: unknown;
    }[];
  };
}

function columnsOf(value: unknown): readonly PrinterColumn[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly Partial<PrinterColumn>[]).flatMap((column) => {
    const { name, type, jsonPath, format, description, priority } = column ?? {};
    if (typeof name !== 'string' || typeof type !== 'string' || typeof jsonPath !== 'string') return [];
    return [
      {
        name,
        type,
        jsonPath,
        ...(typeof format === 'string' ? { format } : {}),
        ...(typeof description === 'string' ? { description } : {}),
        ...(typeof priority === 'number' ? { priority } : {}),
      },
    ];
  });
}
