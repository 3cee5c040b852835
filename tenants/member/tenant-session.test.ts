import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authorFrom } from '../../distribute/stamp/authors.ts';
import { TenantSession, type TenantSessionParts } from './tenant-session.ts';

const mark = { uid: 'u', title: 'TenantBinding x' };
const author = (name: string) => authorFrom({ name, groups: [] });

test('an author whom no grant uses any more is dropped, and one who only removes is not kept', () => {
  const parts: Partial<TenantSessionParts> = { cluster: 'm1', record: () => undefined, onObjects: () => {} };
  const session = new TenantSession(parts as TenantSessionParts);
  session.follow('a', author('alice'), [], false);
  session.follow('b', author('alice'), [], false);
  session.objects(author('carol'), mark);
  assert.deepEqual(session.authors(), ['alice']);
  session.follow('a', author('bob'), [], false);
  assert.deepEqual(session.authors(), ['alice', 'bob']);
  session.follow('b', undefined, [], false);
  assert.deepEqual(session.authors(), ['bob']);
  session.follow('a', undefined, [], false);
  assert.deepEqual(session.authors(), []);
  session.close();
});
