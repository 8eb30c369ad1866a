// The kernel's keyrings belong to a user, not to a namespace: a sandboxed command must not reach those of the bridge's user.
import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { keyringFilter } from '../../../bridge/host/exec/keyring-filter.ts';
import { makeHost } from '../../support/host/workspace.ts';

const probe = await makeHost();
const hasBwrap = probe.sandbox === 'bwrap';
if (!hasBwrap) process.stderr.write(`keyrings in a sandbox are NOT tested here: ${probe.sandboxNote}\n`);
await probe.end();
const hasPerl = spawnSync('perl', ['-e', '1']).status === 0;
if (!hasPerl) process.stderr.write('keyrings in a sandbox are NOT tested here: perl is not installed\n');

const ENOSYS = 38;
const REFUSED = 0x0005_0000 | ENOSYS;
const ALLOWED = 0x7fff_0000;

/** What the kernel would answer: classic BPF, as far as a filter of seccomp uses it. */
function answer(program: Buffer, data: { readonly architecture: number; readonly call: number }): number {
  let loaded = 0;
  for (let at = 0; ; at += 1) {
    const [code, ifTrue, ifFalse] = [
      program.readUInt16LE(at * 8),
      program.readUInt8(at * 8 + 2),
      program.readUInt8(at * 8 + 3),
    ];
    const value = program.readUInt32LE(at * 8 + 4);
    const jump = (taken: boolean): void => void (at += taken ? ifTrue : ifFalse);
    if (code === 0x20) loaded = value === 4 ? data.architecture : data.call;
    else if (code === 0x15) jump(loaded === value);
    else if (code === 0x35) jump(loaded >= value);
    else if (code === 0x45) jump((loaded & value) !== 0);
    else if (code === 0x06) return value;
    else throw new Error(`no instruction ${code}`);
  }
}

describe('the filter', () => {
  // add_key, request_key and keyctl, as the tables of Linux number them.
  test.each([
    ['x64', 'x86_64', 0xc000_003e, [248, 249, 250]],
    ['x64', 'i386', 0x4000_0003, [286, 287, 288]],
    ['arm64', 'aarch64', 0xc000_00b7, [217, 218, 219]],
    ['arm64', 'arm', 0x4000_0028, [309, 310, 311]],
  ])('of %s refuses the three calls of keyrings to %s, and no other one', (arch, _, architecture, calls) => {
    const program = keyringFilter(arch) ?? Buffer.alloc(0);
    const refused = Array.from({ length: 1_024 }, (_call, call) => call).filter(
      (call) => answer(program, { architecture, call }) !== ALLOWED,
    );
    expect(refused).toEqual(calls);
    for (const call of calls) expect(answer(program, { architecture, call })).toBe(REFUSED);
  });

  test('refuses every call of the x32 table, and of an architecture that the machine is not known to have', () => {
    const program = keyringFilter('x64') ?? Buffer.alloc(0);
    for (const call of [0, 250]) {
      expect(answer(program, { architecture: 0xc000_003e, call: 0x4000_0000 + call })).toBe(REFUSED);
      expect(answer(program, { architecture: 0xc000_00b7, call })).toBe(REFUSED);
    }
  });

  test('is none for an architecture whose numbers are not known', () => {
    expect(keyringFilter('mips')).toBeNull();
  });
});

describe.runIf(hasBwrap && hasPerl && keyringFilter() !== null)('a command in a sandbox', () => {
  test('has no keyrings, sees none of their names, and no further descriptor', async () => {
    const host = await makeHost();
    const [add] = process.arch === 'x64' ? [248] : [217];
    const script = `my ($t, $n) = ("user", "mine"); for my $call (${add}..${add + 2}) { my $r = syscall($call, $t, $n, $n, 4, -3); print "$r ", $! + 0, "\\n"; }`;
    const { text } = await host.call('host.exec', { argv: ['perl', '-e', script] });
    expect(text.match(/-1 38/g)).toHaveLength(3);
    const keys = await host.call('host.exec', { argv: ['sh', '-c', 'cat /proc/keys /proc/key-users | wc -c'] });
    expect(keys.text).toMatch(/^0$/m);
    const open = await host.call('host.exec', {
      argv: ['sh', '-c', 'for fd in /proc/self/fd/*; do echo "${fd##*/}"; done'],
    });
    // The fourth is the directory that the shell lists.
    expect(open.text.match(/^\d$/gm)).toEqual(['0', '1', '2', '3']);
    await host.end();
  });
});
