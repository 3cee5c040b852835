// What every store keeps, as tests. A store's own test calls this with a way to open one.
import { testFences } from './fences.fixture.ts';
import { testLife } from './life.fixture.ts';
import { testRandomQuestions } from './random-questions.fixture.ts';
import type { OpenStore } from './tested-store.fixture.ts';
import { testVersions } from './versions.fixture.ts';

/** @param name of the store, for people: `SQLite` */
export function conformance(name: string, open: OpenStore): void {
  testRandomQuestions(name, open);
  testLife(name, open);
  testVersions(name, open);
  testFences(name, open);
}
