// The index and the fan-out attacked from outside. One gateway for all of it: a process each would load it again. What
// a user may not know is compared with what they are told before and after it changes, not with a list of words.
import { after, before } from 'node:test';
import { hiddenTests } from './index-hidden.ts';
import { injectionTests } from './index-injection.ts';
import { oracleTests, randomRights } from './index-oracle.ts';
import { tokenTests } from './index-tokens.ts';
import { startIndexWorld } from './index-world.ts';
import type { IndexWorld } from './index-world.ts';

let world: IndexWorld;
before(async () => {
  world = await startIndexWorld({ alpha: randomRights(0), beta: randomRights(1) });
});
after(() => world?.close());

oracleTests(() => world);
tokenTests(() => world);
injectionTests(() => world);
// Last: it changes what is there.
hiddenTests(() => world);
