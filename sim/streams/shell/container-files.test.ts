import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ContainerFiles, FileFault } from './container-files.ts';

describe('container files', () => {
  const make = (capacityBytes?: number): ContainerFiles => new ContainerFiles(() => 0, capacityBytes);
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
