// Kubernetes' CEL library of lists (apiserver/pkg/cel/library/lists.go) and cel-go's of sets (ext/sets.go).
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { isEqual, isMember, nanosecondsOf, order } from './equality.ts';
import type { Library } from './library.ts';
import { CelFault, noOverload } from './steps.ts';

type List = readonly unknown[];

const duration = 'google.protobuf.Duration';
const comparable = ['int', 'uint', 'double', 'bool', duration, 'google.protobuf.Timestamp', 'string', 'bytes'];

/** Registers `isSorted`, `sum`, `min`, `max`, `indexOf` and `lastIndexOf` of lists. */
export function addLists({ add, steps }: Library): void {
  const best = (name: string, isBetter: (sign: number) => boolean) => (list: List) => {
    if (list.length === 0) throw new CelFault(`${name} called on empty list`);
    // A list of one element, too, must have a comparable element; order() throws if not.
    order(list[0], list[0], steps);
    return list.reduce((found, each) => (isBetter(order(each, found, steps)) ? each : found));
  };
  for (const type of comparable) {
    add(`list<${type}>.isSorted(): bool`, (list: List) =>
      list.every((each, i) => order(i === 0 ? each : list[i - 1], each, steps) <= 0),
    );
    add(
      `list<${type}>.min(): ${type}`,
      best('min', (sign) => sign < 0),
    );
    add(
      `list<${type}>.max(): ${type}`,
      best('max', (sign) => sign > 0),
    );
  }
  add('list<int>.sum(): int', (list: List) => {
    steps.spend(list.length);
    return list.reduce((sum: bigint, each) => inRange(sum + membersOf(each, 'bigint'), 'int'), 0n);
  });
  add('list<uint>.sum(): uint', (list: List) => {
    steps.spend(list.length);
    const sum = list.reduce((sum: bigint, each) => {
      if (!(each instanceof UnsignedInt)) throw noOverload();
      return inRange(sum + each.value, 'uint');
    }, 0n);
    return new UnsignedInt(sum);
  });
  add('list<double>.sum(): double', (list: List) => {
    steps.spend(list.length);
    return list.reduce((sum: number, each) => sum + membersOf(each, 'number'), 0);
  });
  add(`list<${duration}>.sum(): ${duration}`, (list: List) => {
    steps.spend(list.length);
    const sum = list.reduce((sum: bigint, each) => {
      if (!(each instanceof Duration)) throw noOverload();
      return inRange(sum + nanosecondsOf(each), 'int');
    }, 0n);
    return new Duration(sum / 1_000_000_000n, Number(sum % 1_000_000_000n));
  });
  add('list.indexOf(dyn): int', (list: List, wanted: unknown) =>
    BigInt(list.findIndex((each) => isEqual(each, wanted, steps))),
  );
  add('list.lastIndexOf(dyn): int', (list: List, wanted: unknown) =>
    BigInt(list.findLastIndex((each) => isEqual(each, wanted, steps))),
  );
}

function membersOf(value: unknown, type: 'bigint'): bigint;
function membersOf(value: unknown, type: 'number'): number;
function membersOf(value: unknown, type: 'bigint' | 'number'): unknown {
  if (typeof value !== type) throw noOverload();
  return value;
}

function inRange(sum: bigint, type: 'int' | 'uint'): bigint {
  const fits = type === 'int' ? BigInt.asIntN(64, sum) === sum : BigInt.asUintN(64, sum) === sum;
  if (!fits) throw new CelFault(type === 'int' ? 'integer overflow' : 'unsigned integer overflow');
  return sum;
}

/** Registers `sets.contains`, `sets.equivalent` and `sets.intersects`. */
export function addSets({ add, addNamespace, steps }: Library): void {
  addNamespace('sets', 'SetsNamespace');
  const containsAll = (list: List, wanted: List): boolean => wanted.every((each) => isMember(each, list, steps));
  add('SetsNamespace.contains(list, list): bool', (_: unknown, list: List, wanted: List) => containsAll(list, wanted));
  add(
    'SetsNamespace.equivalent(list, list): bool',
    (_: unknown, one: List, other: List) => containsAll(one, other) && containsAll(other, one),
  );
  add('SetsNamespace.intersects(list, list): bool', (_: unknown, one: List, other: List) =>
    one.some((each) => isMember(each, other, steps)),
  );
}
