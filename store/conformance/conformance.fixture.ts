// The tests that every store must pass. The test file of each store calls `conformance` with a function that opens that
// store.
import { testFences } from './fences.fixture.ts';
import { testLeftOut } from './left-out.fixture.ts';
import { testLife } from './life.fixture.ts';
import { testRandomQuestions } from './random-questions.fixture.ts';
import type { OpenStore } from './tested-store.fixture.ts';
import { testVersions } from './versions.fixture.ts';

/** Adds all conformance tests for one store. @param name of the store for test names, such as `SQLite` */
export function conformance(name: string, open: OpenStore): void {
  testRandomQuestions(name, open);
  testLife(name, open);
  testLeftOut(name, open);
  testVersions(name, open);
  testFences(name, open);
}
