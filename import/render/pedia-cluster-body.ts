// Reads the PediaCluster that a template printed. As in Clusterpedia, unknown fields are dropped, and apiVersion and
// kind may be left out. Errors name line and field but never quote the text, since the text may contain a credential.
// Fields and list items must stand in the template's own text; what its actions print is put into them as values.
import { z } from 'zod';
import { goFlag, goList, goText, optional } from '../../lib/yaml/go-fields.ts';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import { hasTooManyParts } from '../../lib/yaml/yaml-parts.ts';
import { clusterGroup } from '../definitions/clusterpedia.ts';
import type { Part } from '../template/template.ts';
import { markValues } from './printed-values.ts';

/** The parts of a PediaCluster that a template can set. Fields that the template prints empty are left out. */
export interface PediaClusterBody {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PediaClusterSpec;
}

/**
 * Address and credentials of a PediaCluster. They are updated whenever the template prints other values; other fields
 * are set on creation only, unless the ClusterImportPolicy asks for more.
 */
export const followedFields = ['apiserver', 'caData', 'tokenData', 'certData', 'keyData', 'kubeconfig'] as const;

export type PediaClusterSpec = Readonly<Partial<Record<(typeof followedFields)[number], string>>> &
  Readonly<Record<string, unknown>>;

/** Thrown when the output of a template is not a valid PediaCluster. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody';
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A field that is `[]byte` in Go: base64 text, in which Go ignores line ends. */
const bytes = goText
  .transform((value) => value.replaceAll(/[\r\n]/g, ''))
  .refine((value) => base64.test(value), { error: 'is not valid base64' })
  .transform((value) => Buffer.from(value, 'base64').toString('base64'));

const secretKey = optional(z.object({ name: goText, key: goText }));
const texts = goList(z.string());
const stringMap = optional(z.record(z.string(), z.string()));

const schema = z.object({
  apiVersion: goText.refine((value) => ['', `${clusterGroup}/v1alpha2`].includes(value), {
    error: `must be ${clusterGroup}/v1alpha2`,
  }),
  kind: goText.refine((value) => ['', 'PediaCluster'].includes(value), { error: 'must be PediaCluster' }),
  metadata: optional(z.object({ labels: stringMap, annotations: stringMap })),
  spec: optional(
    z.object({
      apiserver: goText,
      caData: bytes,
      tokenData: bytes,
      certData: bytes,
      keyData: bytes,
      kubeconfig: bytes,
      authenticationFrom: optional(
        z.object({ kubeconfig: secretKey, ca: secretKey, token: secretKey, cert: secretKey, key: secretKey }),
      ),
      syncResources: optional(
        z.array(
          z.object({
            group: goText,
            versions: texts,
            resources: optional(z.array(z.string())),
            eventsInvolvedResources: texts,
          }),
        ),
      ),
      syncAllCustomResources: goFlag,
      syncResourcesRefName: goText,
      shardingName: goText,
    }),
  ),
});

/**
 * Reads the output of a template; an output given as one string counts as the template's own text. @throws
 * UnreadableBody that names every mistake and its position
 */
export function readPediaClusterBody(printed: string | readonly Part[]): PediaClusterBody {
  const parts = typeof printed === 'string' ? [{ text: printed, isValue: false }] : printed;
  if (hasTooManyParts(parts.map(({ text }) => text).join('')))
    throw new UnreadableBody('template: prints more fields and items than are read');
  const { text, putValues } = markValues(parts);
  const read = readYaml(text, 'template', schema, putValues);
  if ('faults' in read) {
    const faults = read.faults.map(({ line, column, path, message }) => {
      const where = line === undefined ? '' : `line ${line}, column ${column}: `;
      return `${where}${path === undefined ? '' : `${path} `}${message}`;
    });
    throw new UnreadableBody(`what template prints is no PediaCluster: ${faults.slice(0, 3).join('; ')}`);
  }
  const { metadata, spec = {} } = read.value;
  return {
    labels: metadata?.labels ?? {},
    annotations: metadata?.annotations ?? {},
    spec: withoutEmpty(spec) as PediaClusterSpec,
  };
}

/**
 * Leaves out empty fields as Go's `omitempty` does. The list `syncResources` stays even when it is empty, and so does
 * the `group` of its items, which is '' for the core group.
 */
function withoutEmpty(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => {
      if (value === undefined || value === '' || value === false) return [];
      if (key !== 'syncResources' || !Array.isArray(value)) return [[key, value] as const];
      return [[key, value.map(({ group, ...rest }: { group: string }) => ({ group, ...withoutEmptyLists(rest) }))]];
    }),
  );
}

function withoutEmptyLists(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([key, value]) => {
      return Array.isArray(value) && (value.length > 0 || key === 'resources');
    }),
  );
}
