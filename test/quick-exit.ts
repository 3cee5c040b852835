// Imported into every test process: ends it as soon as nothing is left to do. Without this Node takes its handles down
// one by one, and where a socket was reset with a request under way it has been seen to spin in that for ever
// (Environment::CleanupHandles, Node 26). The test runner has a `beforeExit` of its own that fails tests which never
// ended, so it gets its turn first.
process.once('beforeExit', () => {
  setImmediate(() => process.once('beforeExit', () => process.exit()));
});
