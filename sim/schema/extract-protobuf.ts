// Reads the protobuf form of Kubernetes types from its source tree, for extract.ts. Fields come from generated.proto;
// how they appear in JSON comes from the tags of Go structs. An embedded struct is a message in protobuf, but in JSON
// its fields are fields of the outer object. A non-pointer field with `omitempty` is sent in protobuf even when it is
// zero, but not in JSON.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ProtobufField } from './spec.ts';

/**
 * What the type and the tag of a field in a Go struct say. The map of fields has the keys `GoType.protobufName`.
 * `isInline`: the field is embedded; `dropsZero`: left out of JSON when zero; `isAlways`: always in JSON.
 */
interface GoField {
  readonly jsonName: string;
  readonly isInline: boolean;
  readonly dropsZero: boolean;
  readonly isPointer: boolean;
  readonly isAlways: boolean;
}

/**
 * The fields of each message, by the message's full protobuf name. Each folder must contain a generated.proto and Go
 * files.
 */
export function readMessages(folders: readonly string[]): Record<string, ProtobufField[]> {
  const messages: Record<string, ProtobufField[]> = {};
  for (const folder of folders) {
    const file = join(folder, 'generated.proto');
    if (!existsSync(file)) throw new Error(`${file} is missing`);
    const fields = goFields(folder);
    const text = readFileSync(file, 'utf8').replace(/\/\/.*$/gm, '');
    const name = /^package ([\w.]+);/m.exec(text)?.[1] ?? '';
    for (const [, message = '', body = ''] of text.matchAll(/^message (\w+) \{([\s\S]*?)^\}/gm)) {
      messages[`${name}.${message}`] = [
        ...body.matchAll(/(optional|repeated)?\s*(map<\w+, ?([\w.]+)>|[\w.]+) (\w+) = (\d+);/g),
      ].map(([, label = '', type = '', mapValue, field = '', number = '']) => {
        const go = fields.get(`${message}.${field}`);
        const flags =
          (label === 'repeated' ? 'r' : '') +
          (mapValue === undefined ? '' : 'm') +
          (go?.isInline === true ? 'i' : '') +
          (go?.dropsZero === true ? 'z' : '') +
          (go?.isPointer === true ? 'p' : '') +
          (go?.isAlways === true ? 'a' : '');
        return [Number(number), go?.jsonName ?? field, fullType(mapValue ?? type, name), flags];
      });
    }
  }
  return messages;
}

const scalars = new Set(['string', 'bytes', 'bool', 'int32', 'int64', 'uint32', 'uint64', 'double']);

function fullType(type: string, home: string): string {
  if (scalars.has(type)) return type;
  return type.startsWith('.') ? type.slice(1) : `${home}.${type}`;
}

function goFields(folder: string): Map<string, GoField> {
  const found = new Map<string, GoField>();
  const files = readdirSync(folder).filter(
    (name) => name.endsWith('.go') && !name.startsWith('zz_') && !name.endsWith('_test.go'),
  );
  for (const file of files) {
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, struct = '', body = ''] of text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
      for (const [, type = '', json = '', protobuf = ''] of body.matchAll(
        /^\t(?:\w+\s+)?(\S+)\s+`json:"([^"]*)"[^`\n]*? protobuf:"([^"]*)"/gm,
      )) {
        const name = /name=(\w+)/.exec(protobuf)?.[1] ?? '';
        const [jsonName = '', ...options] = json.split(',');
        found.set(`${struct}.${name}`, {
          jsonName: jsonName === '' ? name : jsonName,
          isInline: options.includes('inline'),
          isPointer: type.startsWith('*'),
          isAlways: !options.includes('omitempty') && !options.includes('omitzero'),
          dropsZero: options.includes('omitempty') && !/^[*[]|^map/.test(type),
        });
      }
    }
  }
  return found;
}
