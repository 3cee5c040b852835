#!/usr/bin/env node
// The executable: makes sure that a suitable Node runs, then hands over to program.ts. Easy to get wrong: this file
// must load on very old Nodes, whose users would see a syntax error in place of the message. So it imports nothing of
// ours and uses plain syntax.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Type stripping is on by default from 22.18; the rest of the code is tested on 24 and 26.
const oldestMajor = 24;
// Below this package, or beside it when npm installs it into a project. The latter may be any Node: one that runs this
// already is left out, or it would start itself for ever.
const pinned = ['../node_modules/.bin/node', '../../.bin/node']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((file) => existsSync(file) && realpathSync(file) !== realpathSync(process.execPath));

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) {
  await start();
} else if (pinned !== undefined) {
  runPinned();
} else {
  process.stderr.write(
    `portcullis: needs Node ${oldestMajor} or newer, this is ${process.versions.node}\n` +
      'In a checkout, run npm ci first: it brings the right one (Linux and macOS on x64 and arm64). npm leaves it out, without a word,\n' +
      'when the download is not what package-lock.json says. Elsewhere, install Node 26.\n',
  );
  process.exitCode = 2;
}

async function start() {
  const source = new URL('./program.ts', import.meta.url);
  const built = new URL('../dist/bin/program.js', import.meta.url);
  // Node strips no types below node_modules, so an installed package carries dist in place of the sources.
  const { main } = await import(existsSync(source) ? source.href : built.href);
  process.exitCode = await main(process.argv);
  // When nothing is left to do. While closing handles one by one, Node 26 was seen to loop for ever over a reset socket.
  process.once('beforeExit', () => process.exit());
}

/** Runs this very command again with the Node that npm ci installed, passing signals and the exit code through. */
function runPinned() {
  let child;
  // Before the child exists: a signal in between would end this process and leave the child behind.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
    process.on(signal, () => {
      // Ctrl-C in a terminal reaches the whole process group: the child has it already, and a second means "at once".
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child = spawn(pinned, process.argv.slice(1), { stdio: 'inherit' });
  child.once('error', (error) => {
    process.stderr.write(`portcullis: cannot run ${pinned}: ${error.message}\nRun npm ci again.\n`);
    process.exitCode = 1;
  });
  child.once('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code;
      return;
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
