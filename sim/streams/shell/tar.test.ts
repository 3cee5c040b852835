import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { createContainerFiles, FileFault, type ContainerFiles } from './container-files.ts';
import { decodeTar, encodeTarEntry, tarTrailer, type TarEntry } from './tar.ts';

const entries: readonly TarEntry[] = [
  { name: 'dir/', kind: 'directory', mode: 0o755, modifiedAtMs: 1_700_000_000_000, data: Buffer.alloc(0), target: '' },
  { name: 'dir/empty', kind: 'file', mode: 0o600, modifiedAtMs: 0, data: Buffer.alloc(0), target: '' },
  { name: 'dir/exact', kind: 'file', mode: 0o644, modifiedAtMs: 1_700_000_001_000, data: randomBytes(512), target: '' },
  { name: 'dir/odd', kind: 'file', mode: 0o755, modifiedAtMs: 1_700_000_001_000, data: randomBytes(513), target: '' },
  { name: `dir/${'ü'.repeat(99)}`, kind: 'file', mode: 0o644, modifiedAtMs: 0, data: Buffer.from('x'), target: '' },
  {
    name: 'dir/link',
    kind: 'symlink',
    mode: 0o777,
    modifiedAtMs: 0,
    data: Buffer.alloc(0),
    target: `/${'t'.repeat(150)}`,
  },
];

const archive = Buffer.concat([...entries.map(encodeTarEntry), tarTrailer()]);
const hasTar = spawnSync('tar', ['--version']).status === 0;

describe('tar archives', () => {
  it('survive a round trip: empty, exact and odd sizes, long names, links', () => {
    assert.deepEqual([...decodeTar(archive)], entries);
  });

  it('are refused when damaged or cut short', () => {
    assert.throws(() => [...decodeTar(archive.subarray(0, 1500))], /Unexpected EOF/);
    assert.throws(() => [...decodeTar(archive.subarray(0, -1024))], /Unexpected EOF/);
    const damaged = Buffer.from(archive);
    damaged.write('x', 0);
    assert.throws(() => [...decodeTar(damaged)], /checksum/);
  });

  it('are read by a real tar', { skip: hasTar ? false : 'no tar on this machine' }, () => {
    const listing = spawnSync('tar', ['-tf', '-', '--quoting-style=literal'], { input: archive });
    assert.equal(listing.stderr.toString(), '');
    assert.deepEqual(
      listing.stdout.toString().trimEnd().split('\n'),
      entries.map((entry) => entry.name),
    );
  });

  it('of a real tar are read, PAX, GNU and ustar', { skip: hasTar ? false : 'no tar on this machine' }, () => {
    for (const format of ['pax', 'gnu', 'ustar']) {
      const packed = spawnSync('tar', [
        `--format=${format}`,
        '-cf',
        '-',
        '-C',
        import.meta.dirname,
        'tar.ts',
        'shell.ts',
      ]);
      const names = [...decodeTar(packed.stdout)].map((entry) => [entry.name, entry.data.includes('export ')]);
      assert.deepEqual(names, [
        ['tar.ts', true],
        ['shell.ts', true],
      ]);
    }
    const prefix = `${'long/'.repeat(25)}prefix`;
    const options = ['--format=ustar', `--transform=s,^,${prefix}/,`, '-C', import.meta.dirname, '-cf', '-', 'tar.ts'];
    const packed = spawnSync('tar', options);
    assert.deepEqual(
      [...decodeTar(packed.stdout)].map((entry) => entry.name),
      [`${prefix}/tar.ts`],
    );
  });
});

describe('container files', () => {
  const make = (capacityBytes?: number): ContainerFiles =>
    createContainerFiles({ now: () => 0, ...(capacityBytes === undefined ? {} : { capacityBytes }) });
  const faultOf = (run: () => void): string => {
    try {
      run();
    } catch (error) {
      if (error instanceof FileFault) return error.code;
      throw error;
    }
    return 'none';
  };

  it('keep `..` inside the tree and take trailing slashes for nothing', () => {
    const files = make();
    files.makeDirectory('/a/b/', { parents: true });
    files.write('/a/../../../a/b/c', Buffer.from('x'));
    assert.deepEqual(files.list('/a/b/'), ['c']);
  });

  it('follow symbolic links but not for ever', () => {
    const files = make();
    files.makeDirectory('/real');
    files.makeLink('/link', 'real');
    files.write('/link/f', Buffer.from('x'));
    assert.equal(String(files.read('/real/f')), 'x');
    assert.equal(files.findLink('/link')?.kind, 'symlink');
    files.makeLink('/loop', '/loop');
    assert.equal(
      faultOf(() => files.find('/loop')),
      'ELOOP',
    );
    files.remove('/link');
    assert.equal(files.find('/real')?.kind, 'directory');
  });

  it('fail as a kernel does', () => {
    const files = make();
    files.write('/f', Buffer.from('x'));
    assert.equal(
      faultOf(() => files.read('/none')),
      'ENOENT',
    );
    assert.equal(
      faultOf(() => files.read('/')),
      'EISDIR',
    );
    assert.equal(
      faultOf(() => files.write('/', Buffer.alloc(0))),
      'EISDIR',
    );
    assert.equal(
      faultOf(() => files.write('/f/g', Buffer.alloc(0))),
      'ENOTDIR',
    );
    assert.equal(
      faultOf(() => files.write('/none/g', Buffer.alloc(0))),
      'ENOENT',
    );
    assert.equal(
      faultOf(() => files.list('/f')),
      'ENOTDIR',
    );
    assert.equal(
      faultOf(() => files.makeDirectory('/f')),
      'EEXIST',
    );
    assert.equal(
      faultOf(() => files.remove('/none')),
      'ENOENT',
    );
  });

  it('give room back when files shrink or go', () => {
    const files = make(100);
    files.write('/a', Buffer.alloc(60));
    assert.equal(
      faultOf(() => files.write('/b', Buffer.alloc(60))),
      'ENOSPC',
    );
    files.write('/a', Buffer.alloc(30));
    files.write('/b', Buffer.alloc(60));
    files.remove('/b');
    files.write('/c', Buffer.alloc(70));
    assert.deepEqual(files.list('/'), ['a', 'c']);
  });
});
