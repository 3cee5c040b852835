// Writes and reads what a client hands back: the version of a merged list or watch, and the place where the next page
// begins. Both name clusters and come from outside, so they only choose among clusters the caller may reach now.
import { createHash } from 'node:crypto';
import { GatewayError } from '../../../cache/model/errors.ts';
import type { ClusterSpec } from '../../../cache/model/records.ts';
import type { User } from '../../../cache/model/user.ts';

/** Version and registration of each cluster of a merged answer, by the cluster's name. */
export type Versions = ReadonlyMap<string, { readonly version: string; readonly registration: string }>;

/** Part of a registration's uid, enough to notice that another server has taken the name. */
export function registrationOf({ uid }: ClusterSpec): string {
  return uid.replaceAll('-', '').slice(0, 8);
}

/** `resourceVersion` of a merged answer: base64url of a JSON object from cluster to `<its version>.<registration>`. */
export function composeVersion(versions: Versions): string {
  const entries = [...versions].map(([cluster, { version, registration }]) => [cluster, `${version}.${registration}`]);
  return Buffer.from(JSON.stringify(Object.fromEntries(entries))).toString('base64url');
}

/** Whether a member's version can be part of ours. Some aggregated APIs have none; their lists begin anew each time. */
export function isVersion(text: string): boolean {
  return /^[0-9A-Za-z_-]{1,64}$/.test(text);
}

const versionText = /^([0-9A-Za-z_-]{1,64})\.([0-9a-z]{1,8})$/;

/**
 * @throws GatewayError BAD_REQUEST for a text not made by {@link composeVersion}, such as the version of one cluster
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
    'the resourceVersion is none of a request to many clusters: use the one of a list from the same path',
  );
}

/** Where a page begins. */
export interface Position {
  /** The first cluster of the page; the next by name when it is gone. */
  readonly cluster: string;
  readonly registration: string;
  /** The member's own token, '' to begin with its first object. */
  readonly memberToken: string;
  /** Version of the first page, which every page repeats. */
  readonly version: string;
}

/** Whose page of which question; a token is for no other. */
export interface TokenScope {
  readonly user: User;
  readonly path: string;
  /** The query without paging. */
  readonly query: string;
}

/** An opaque token. */
export function writeToken(position: Position, scope: TokenScope): string {
  const { cluster, registration, memberToken, version } = position;
  const parts = [cluster, registration, memberToken, version];
  return Buffer.from(JSON.stringify([digestOf(parts, scope), ...parts])).toString('base64url');
}

/** @throws GatewayError BAD_REQUEST for a token that was changed, or made for another user or list */
export function readToken(token: string, scope: TokenScope): Position {
  const odd = new GatewayError(
    'BAD_REQUEST',
    'the continue token is not one of this list and this user; begin again without it',
  );
  // Buffer would skip characters outside base64url.
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
  // The digest needs no key: a forged token gives nothing the caller could not ask for, since every cluster is
  // authorized again.
  parseVersion(version);
  return { cluster, registration, memberToken, version };
}

function digestOf(parts: readonly string[], { user, path, query }: TokenScope): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([...parts, user.name, user.uid, path, query]));
  return hash.digest('base64url').slice(0, 22);
}

const base64url = /^[A-Za-z0-9_-]+$/;

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!base64url.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
