// The resourceVersion and the continue token of merged lists: how the gateway writes them for the client, and how it
// reads them when the client sends them back. Security: both name clusters and a client can forge them, so they may
// only choose among clusters that the caller may reach now.
import { isJsonObject, type JsonObject } from '../../../lib/objects/json-object.ts';
import { createHash } from 'node:crypto';
import { GatewayError } from '../../../model/errors.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import type { User } from '../../../model/user.ts';

/**
 * For each cluster in a merged answer, by name: the cluster's own resourceVersion (`version`), and the first eight
 * hexadecimal digits of the cluster record's UID (`registration`).
 */
export type Versions = ReadonlyMap<string, { readonly version: string; readonly registration: string }>;

/**
 * The first eight hexadecimal digits of the cluster record's UID. When they have changed, the name now belongs to
 * another cluster.
 */
export function registrationOf({ uid }: ClusterSpec): string {
  return uid.replaceAll('-', '').slice(0, 8);
}

/**
 * The `resourceVersion` of a merged answer: base64url of a JSON object that maps each cluster to `<its
 * version>.<registration>`.
 */
export function composeVersion(versions: Versions): string {
  const entries = [...versions].map(([cluster, { version, registration }]) => [cluster, `${version}.${registration}`]);
  return Buffer.from(JSON.stringify(Object.fromEntries(entries))).toString('base64url');
}

/**
 * Whether a cluster's resourceVersion can be part of a merged one. Some aggregated APIs send no resourceVersion; a
 * watch of their clusters begins with a new list each time.
 */
export function isVersion(text: string): boolean {
  return /^[0-9A-Za-z_-]{1,64}$/.test(text);
}

const versionText = /^([0-9A-Za-z_-]{1,64})\.([0-9a-z]{1,8})$/;

/**
 * Reads a merged resourceVersion.
 * @throws GatewayError BAD_REQUEST for a text that {@link composeVersion} did not make, such as the resourceVersion of
 * a single cluster
 */
export function parseVersion(text: string): Versions {
  const versions = new Map<string, { version: string; registration: string }>();
  for (const [cluster, value] of Object.entries(parseObject(text) ?? throwOdd())) {
    const match = typeof value === 'string' ? versionText.exec(value) : null;
    if (match === null) throwOdd();
    else versions.set(cluster, { version: match[1]!, registration: match[2]! });
  }
  return versions;
}

function throwOdd(): never {
  throw new GatewayError(
    'BAD_REQUEST',
    'the resourceVersion is not one of a list over many clusters: use the one that a list on the same path returned',
  );
}

/** Where the next page of a merged list begins. The continue token for the client contains this. */
export interface Position {
  /**
   * Name of the cluster with which the page begins. When that cluster was removed, the page begins with the next
   * cluster by name.
   */
  readonly cluster: string;
  readonly registration: string;
  /** The continue token that the cluster itself gave; '' to begin with the cluster's first object. */
  readonly memberToken: string;
  /** The merged resourceVersion of the first page. Every page repeats it. */
  readonly version: string;
}

/** The request for which a continue token is valid: it must have the same user, path and query. */
export interface TokenScope {
  readonly user: User;
  readonly path: string;
  /** The query without the parameters for paging. */
  readonly query: string;
}

/**
 * Makes the continue token for the client: base64url of a JSON list with the position and a digest, which ties the
 * token to the user, path and query of `scope`.
 */
export function writeToken(position: Position, scope: TokenScope): string {
  const { cluster, registration, memberToken, version } = position;
  const parts = [cluster, registration, memberToken, version];
  return Buffer.from(JSON.stringify([digestOf(parts, scope), ...parts])).toString('base64url');
}

/**
 * Reads a continue token that the client sent.
 * @throws GatewayError BAD_REQUEST for a token that was changed, or that was made for another user, path or query
 */
export function readToken(token: string, scope: TokenScope): Position {
  const odd = new GatewayError(
    'BAD_REQUEST',
    'the continue token was not issued for this list and this user; list again without it',
  );
  // Buffer.from ignores characters that are not base64url. A token with such characters must therefore be refused
  // first.
  if (!base64url.test(token)) throw odd;
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
  } catch {
    throw odd;
  }
  if (!Array.isArray(parts) || parts.length !== 5 || !parts.every((part) => typeof part === 'string')) throw odd;
  const [digest, cluster = '', registration = '', memberToken = '', version = ''] = parts as string[];
  if (digest !== digestOf([cluster, registration, memberToken, version], scope)) throw odd;
  // Security: anybody can compute the digest in a token, so a client can forge a token. The client gains nothing by it,
  // because the caller's right to every cluster is checked again for each page.
  parseVersion(version);
  return { cluster, registration, memberToken, version };
}

function digestOf(parts: readonly string[], { user, path, query }: TokenScope): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([...parts, user.name, user.uid, path, query]));
  return hash.digest('base64url').slice(0, 22);
}

const base64url = /^[A-Za-z0-9_-]+$/;

function parseObject(text: string): JsonObject | undefined {
  if (!base64url.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
