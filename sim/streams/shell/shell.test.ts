import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { packTar } from 'modern-tar';
import { createContainers, type Container } from './containers.ts';
import { pretence, ProgramNotFound, runProgram } from './shell.ts';
import { testPod } from '../streams.fixture.ts';

function container(): Container {
  const opened = createContainers().open(testPod(), 'web');
  assert.ok(opened);
  return opened;
}

interface Run {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

async function run(argv: readonly string[], input: string | Uint8Array = '', where = container()): Promise<Run> {
  const outputs = { out: '', err: '' };
  const outlet = (name: 'out' | 'err'): PassThrough =>
    new PassThrough().on('data', (chunk: Buffer) => (outputs[name] += chunk.toString()));
  const code = await runProgram({
    argv,
    container: where,
    workingDirectory: '/',
    stdin: Readable.from([Buffer.from(input)]),
    stdout: outlet('out'),
    stderr: outlet('err'),
    terminal: undefined,
    signal: new AbortController().signal,
  });
  return { ...outputs, code };
}

const sh = (script: string): Promise<Run> => run(['sh', '-c', script]);

describe('the pretend shell', () => {
  for (const [script, out, code] of [
    ['echo a  b', 'a b\n', 0],
    [`echo "a  b" '$HOME' "$HOSTNAME"!$NONE`, 'a  b $HOME web-0!\n', 0],
    ['exit 3; echo never', '', 3],
    ['false; echo $?', '1\n', 0],
    ['true && echo yes || echo no', 'yes\n', 0],
    ['false && echo yes || echo no', 'no\n', 0],
    ['echo one; echo two # three\necho four;', 'one\ntwo\nfour\n', 0],
    ['cd /etc && pwd; cd /nowhere', '/etc\n', 2],
    ['echo quiet >/dev/null 2>&1; ls /nowhere 2>/dev/null', '', 1],
    ['command -v bash >/dev/null 2>&1 && exec bash; exec echo last; echo never', 'last\n', 0],
    ['sh -c "exit 5"; echo $?; exit 300', '5\n', 44],
  ] as const) {
    it(`runs ${script.replaceAll('\n', '⏎')}`, async () => {
      const result = await sh(script);
      assert.deepEqual({ out: result.out, code: result.code }, { out, code }, result.err);
    });
  }

  for (const [script, err] of [
    ['echo x | cat', '"|" unexpected'],
    ['echo x > /tmp/f', '">" unexpected'],
    ['echo x; cat < /etc/hosts', '"<" unexpected'],
    ['echo a &', '"&" unexpected'],
    ['echo a &&', 'end of file unexpected'],
    ['&& echo', '"&&" unexpected'],
    ['while true; do date; done', '"while" unexpected'],
    ['X=1; echo $X', '"X=1" unexpected'],
    ['echo "$(date)"', '"$(" unexpected'],
    ['echo a\\ b', '"\\\\" unexpected'],
    ['echo "open', '"\\"" unexpected'],
  ] as const) {
    it(`runs nothing of ${script}, and says what it can do`, async () => {
      assert.deepEqual(await sh(script), { out: '', err: `sh: syntax error: ${err}; ${pretence}\n`, code: 2 });
    });
  }

  it('says what it can do when a command is unknown', async () => {
    const { err, code } = await sh('nmap');
    assert.match(err, /^sh: nmap: not found; this container is simulated: it knows bash, cat, cd, .*without pipes/);
    assert.equal(code, 127);
    assert.equal((await run(['sh', 'file'])).code, 2);
    for (const argv of [['nmap'], ['/opt/ls'], ['toString']]) await assert.rejects(run(argv), ProgramNotFound);
  });

  it('reads commands from stdin, line by line', async () => {
    const script = 'echo one\ncat\ncat\nnmap\necho $?\nexit 4\necho never | cat\n';
    const { out, code } = await run(['sh'], script);
    assert.deepEqual([out, code], ['one\n127\n', 4]);
    assert.equal((await run(['/bin/sh', '-s'], 'echo no newline')).out, 'no newline\n');
  });
});

describe('the pretend programs', () => {
  it('show the container they run in', async () => {
    assert.match((await run(['/usr/bin/env'])).out, /^HOSTNAME=web-0$[^]*^COLOR=green$/m);
    assert.equal((await run(['cat', '/etc/hostname', '-'], 'from stdin')).out, 'web-0\nfrom stdin');
    assert.match((await run(['cat', '/etc/resolv.conf'])).out, /^search shop.svc.cluster.local/);
    assert.equal((await run(['cat', '/tmp'])).err, "cat: can't open '/tmp': Is a directory\n");
    assert.match((await run(['ls'])).out, /^bin\ndev\netc\n/);
    assert.equal(
      (await run(['ls', '-l', '/etc/hostname'])).out.replace(/ +/g, ' '),
      '-rw-r--r-- 1 root root 6 /etc/hostname\n',
    );
    assert.equal((await run(['ls', '--color'])).err, 'ls: option --color is not simulated\n');
    assert.equal((await run(['stty', 'size'])).code, 1);
    for (const [path, code] of Object.entries({ '/tmp': 0, '/etc/hostname': 1, '/nowhere': 1 }))
      assert.equal((await run(['test', '-d', path])).code, code);
  });

  it('tar keeps what it unpacks inside the directory, and says what it leaves out', async () => {
    const where = container();
    const archive = await packTar([
      { header: { name: '../../up', size: 1 }, body: 'x' },
      { header: { name: 'link', type: 'symlink', linkname: '/etc', size: 0 } },
    ]);
    const { err, code } = await run(['tar', 'xmf', '-', '-C', '/home/'], archive, where);
    assert.deepEqual([err, code], ['tar: link: a symlink is not simulated, left out\n', 1]);
    assert.equal((await run(['ls', '/home/../home'], '', where)).out, 'up\n');
    assert.equal((await run(['tar', 'cf', '-', '/none'], '', where)).code, 1);
  });
});
