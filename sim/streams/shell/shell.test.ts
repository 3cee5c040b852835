import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { createContainers, type Container } from './containers.ts';
import { ProgramNotFound } from './process.ts';
import { runProgram } from './shell.ts';
import { testPod } from '../streams.fixture.ts';

function container(): Container {
  const opened = createContainers({ now: () => Date.parse('2026-11-21T08:00:00Z') }).open(testPod(), 'web');
  assert.ok(opened);
  return opened;
}

interface Run {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

async function run(argv: readonly string[], input = '', where = container()): Promise<Run> {
  const outputs = { out: '', err: '' };
  const outlet = (name: 'out' | 'err'): PassThrough =>
    new PassThrough().on('data', (chunk: Buffer) => (outputs[name] += chunk.toString()));
  const code = await runProgram({
    argv,
    container: where,
    environment: where.environment,
    workingDirectory: '/',
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout: outlet('out'),
    stderr: outlet('err'),
    terminal: undefined,
    signal: new AbortController().signal,
  });
  return { ...outputs, code };
}

const sh = (script: string, input = '', where = container()): Promise<Run> => run(['sh', '-c', script], input, where);

describe('the pretend shell', () => {
  for (const [script, out, code] of [
    ['echo a  b', 'a b\n', 0],
    ['echo "a  b" \'$HOME\' c\\ d', 'a  b $HOME c d\n', 0],
    ['exit 3; echo never', '', 3],
    ['exit 300', '', 44],
    ['false; echo $?', '1\n', 0],
    ['true && echo yes || echo no', 'yes\n', 0],
    ['false && echo yes || echo no', 'no\n', 0],
    ['X=1 Y="$X 2"; echo "$X|$Y|${Z}|$COLOR"', '1|1 2||green\n', 0],
    ['X="a  b"; echo $X; echo "$X"', 'a b\na  b\n', 0],
    ['X=; echo [$X] ""', '[] \n', 0],
    ['echo one; echo two # three\necho four', 'one\ntwo\nfour\n', 0],
    ['printf', '', 127],
    ['cd /etc && pwd; cd /nowhere', '/etc\n', 2],
    ['echo out > /tmp/f; echo more >> /tmp/f; cat < /tmp/f', 'out\nmore\n', 0],
    ['ls /nowhere 2>&1 | cat', 'ls: /nowhere: No such file or directory\n', 0],
    ['echo quiet >/dev/null 2>/dev/null', '', 0],
    ['echo 2>/tmp/f 1', '1\n', 0],
    ['cat /etc/passwd | cat | head -c 4', 'root', 0],
    ['false | true', '', 0],
    ['true | false', '', 1],
    ['echo x | (cat)', '', 2],
    ['for i in 1 2; do echo $i; done', '', 2],
    ['echo "open', '', 2],
    ['&& echo', '', 2],
    ['echo a &', '', 2],
    ['sh -c "exit 5"; echo $?', '5\n', 0],
    ["sh -c 'echo $0 $1 $#' name one", 'name one 1\n', 0],
    ['exec echo last; echo never', 'last\n', 0],
    ["export A=b; sh -c 'echo $A'", 'b\n', 0],
  ] as const) {
    it(`runs ${script.replaceAll('\n', '⏎')}`, async () => {
      const result = await sh(script);
      assert.deepEqual({ out: result.out, code: result.code }, { out, code }, result.err);
    });
  }

  it('refuses by name what it does not know', async () => {
    assert.equal((await sh('while true; do date; done')).err, 'sh: "while" is not simulated\n');
    assert.equal((await sh('cat <<E')).err, 'sh: here-documents are not simulated\n');
    assert.equal((await sh('echo `date`')).err, 'sh: backquotes are not simulated\n');
    assert.equal((await sh('echo $(date)')).err, 'sh: $(…) is not simulated\n');
    assert.equal((await run(['sh', 'file'])).err, 'sh: running a file is not simulated\n');
    assert.equal((await sh('ls --color')).err, 'ls: option --color is not simulated\n');
    assert.equal((await sh('nmap')).err, 'sh: nmap: not found\n');
  });

  it('reads commands from stdin, line by line', async () => {
    assert.deepEqual(await run(['sh'], 'echo one\nX=2\necho $X\nexit 4\necho never\n'), {
      out: 'one\n2\n',
      err: '',
      code: 4,
    });
    assert.equal((await run(['/bin/sh', '-s'], 'echo no newline')).out, 'no newline\n');
  });

  it('throws ProgramNotFound only for the program itself', async () => {
    await assert.rejects(run(['nmap']), ProgramNotFound);
    await assert.rejects(run(['/opt/ls']), ProgramNotFound);
    await assert.rejects(run(['toString']), ProgramNotFound);
    assert.equal((await run(['/usr/bin/env'])).code, 0);
  });
});

describe('the pretend programs', () => {
  it('show the container they run in', async () => {
    assert.match((await run(['env'])).out, /^HOSTNAME=web-0$[^]*^COLOR=green$/m);
    assert.equal((await run(['cat', '/etc/hostname'])).out, 'web-0\n');
    assert.match((await run(['cat', '/etc/resolv.conf'])).out, /^search shop.svc.cluster.local/);
    assert.equal((await run(['stty', 'size'])).code, 1);
  });

  it('ls shows names, details, single files and errors', async () => {
    const where = container();
    await sh('mkdir -p /d/sub; echo hello > /d/f; touch /d/.hidden', '', where);
    assert.equal((await run(['ls', '/d'], '', where)).out, 'f\nsub\n');
    assert.equal((await run(['ls', '-a', '/d'], '', where)).out, '.hidden\nf\nsub\n');
    assert.equal(
      (await run(['ls', '-l', '/d/f'], '', where)).out,
      '-rw-r--r--    1 root     root             6 Nov 21 08:00 /d/f\n',
    );
    assert.match((await run(['ls', '-ld', '/d'], '', where)).out, /^drwxr-xr-x /);
    assert.equal((await run(['ls', '/x', '/d'], '', where)).code, 1);
  });

  it('cat, head and sha256sum agree on bytes', async () => {
    const where = container();
    assert.equal((await run(['cat', '-'], 'from stdin', where)).out, 'from stdin');
    assert.equal((await run(['cat', '/tmp'], '', where)).err, "cat: can't open '/tmp': Is a directory\n");
    await sh('cat > /tmp/t', 'both', where);
    assert.equal((await run(['head', '-c', '3', '/tmp/t'], '', where)).out, 'bot');
    const sum = 'ff7772053abf7d817d6eec229a09e14f0d1552f1cb0aeedb2ac73784ac2d2e39';
    assert.equal((await sh('sha256sum /tmp/t', '', where)).out, `${sum}  /tmp/t\n`);
  });

  it('test answers with its exit code', async () => {
    for (const [script, code] of [
      ['test -d /tmp', 0],
      ['test -d /etc/hostname', 1],
      ['test -f /etc/hostname', 0],
      ['test -e /nowhere', 1],
      ['test a = a', 1],
    ] as const) {
      assert.equal((await sh(script)).code, code, script);
    }
  });

  it('rm and mkdir mind directories', async () => {
    const where = container();
    assert.equal((await sh('mkdir /a; mkdir /a', '', where)).err, 'mkdir: File exists\n');
    assert.equal((await sh('rm /a', '', where)).err, 'rm: Is a directory\n');
    assert.equal((await sh('mkdir /x/y', '', where)).err, 'mkdir: No such file or directory\n');
    assert.equal((await sh('rm -rf /a /never; ls -d /a', '', where)).code, 1);
  });
});
