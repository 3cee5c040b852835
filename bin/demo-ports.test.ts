import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { run } from './program.ts';
import { recordingTerminal } from '../cli/stub-gateway.fixture.ts';
import { tempDir } from '../test/pretend/temp-dir.ts';

test('a demo whose ports are taken says which, who may have them and how to take others, and starts nothing', async () => {
  const folder = tempDir('demo');
  const servers = [createServer(), createServer()];
  const state = process.env['XDG_STATE_HOME'];
  process.env['XDG_STATE_HOME'] = folder;
  try {
    const [first, second] = await Promise.all(
      servers.map(async (server) => {
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        return `127.0.0.1:${(server.address() as AddressInfo).port}`;
      }),
    );
    const asked = [
      [first!, second!, `${first} (--listen) and ${second} (--ops-listen) are in use`],
      [first!, '127.0.0.1:0', `${first} (--listen) is in use`],
      ['127.0.0.1:0', second!, `${second} (--ops-listen) is in use`],
    ];
    for (const [listen = '', opsListen = '', message = ''] of asked) {
      const terminal = recordingTerminal();
      const { demo } = await import('./demo.ts');
      const verbs = { demo, serve: () => Promise.reject(), check: () => Promise.reject() };
      const args = ['demo', '--listen', listen, '--ops-listen', opsListen, '--clusters', '1'];
      assert.equal(await run(args, verbs, terminal), 1);
      assert.equal(terminal.printed(), '');
      assert.ok(
        terminal.noted().startsWith(`portcullis: ${message} by another process, perhaps another demo or gateway\n`),
        terminal.noted(),
      );
      assert.match(terminal.noted(), /\n {2}npm start -- --listen 127\.0\.0\.1:0 --ops-listen 127\.0\.0\.1:0\n$/);
    }
    assert.deepEqual(readdirSync(folder), []);
  } finally {
    if (state === undefined) delete process.env['XDG_STATE_HOME'];
    else process.env['XDG_STATE_HOME'] = state;
    for (const server of servers) server.close();
  }
});
