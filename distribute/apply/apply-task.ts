// One manifest that is to be applied, with everything the strategies need.
import type { MemberObjects, ObjectName } from '../member/member-objects.ts';
import type { UpdateStrategy } from '../work/manifest-config.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import type { WantedOwner } from './desired.ts';

export interface ApplyTask {
  readonly objects: MemberObjects;
  readonly object: ObjectName;
  /** Without UID and, for kinds without namespaces, without namespace. */
  readonly manifest: JsonObject;
  readonly strategy: UpdateStrategy;
  readonly ownership: WantedOwner;
  /** `contentHash` of the object after it was applied last, by this process and from the same manifest. */
  readonly lastContent: string | undefined;
}
