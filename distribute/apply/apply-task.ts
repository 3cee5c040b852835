// One manifest that is to be applied to an object of a member, with everything that the update strategies need.
import type { MemberObjects, ObjectName } from '../member/member-objects.ts';
import type { UpdateStrategy } from '../work/manifest-config.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import type { WantedOwner } from './desired.ts';

export interface ApplyTask {
  readonly objects: MemberObjects;
  readonly object: ObjectName;
  /** The manifest without UID and, for kinds without namespaces, without namespace. */
  readonly manifest: JsonObject;
  readonly strategy: UpdateStrategy;
  readonly ownership: WantedOwner;
  /** The `contentHash` of the object after this process last applied the same manifest; undefined if it did not yet. */
  readonly lastContent: string | undefined;
}
