// What the CustomResourceDefinitions of a member say of its types: storage version, conversion, printer columns. A CRD
// is large (its schemas), so these few facts are read from it and the rest is dropped.
import type { PrinterColumn } from '../../../tables/printer-column.ts';

/** Facts of one CRD. */
export interface CustomType {
  readonly group: string;
  readonly resource: string;
  readonly storageVersion: string;
  /** Conversion strategy None: versions differ in nothing but apiVersion. */
  readonly convertible: boolean;
  /** By served version. */
  readonly printerColumns: Readonly<Record<string, readonly PrinterColumn[]>>;
}

/** The CRDs of one member as they were last seen. */
export interface CustomTypes {
  /** By `<resource>.<group>`, which is a CRD's name. */
  get(name: string): CustomType | undefined;
  /** True when a fact changed. What is no CRD is passed over. */
  put(object: Buffer): boolean;
  remove(object: Buffer): boolean;
}

export function makeCustomTypes(): CustomTypes {
  const types = new Map<string, { readonly type: CustomType; readonly text: string }>();
  return {
    get: (name) => types.get(name)?.type,
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

/** apiextensions.k8s.io/v1 CustomResourceDefinition; undefined for what is none. */
function readCustomType(object: Buffer): readonly [name: string, type: CustomType] | undefined {
  let crd: Partial<Definition>;
  try {
    crd = JSON.parse(object.toString('utf8')) as Partial<Definition>;
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
    // Absent is None (apiextensions defaults).
    convertible: (spec.conversion?.strategy ?? 'None') === 'None',
    printerColumns: Object.fromEntries(
      versions
        .filter(({ served }) => served === true)
        .map(({ name, additionalPrinterColumns }) => [name, columnsOf(additionalPrinterColumns)]),
    ),
  };
  return [`${resource}.${spec.group}`, type];
}

/** As far as it is read; nothing of it is sure before it was looked at. */
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
