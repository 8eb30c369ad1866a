// A seccomp filter that keeps a command from the kernel's keyrings. They belong to the user, not to a namespace: without it, a
// command could read the keys that a login, a mail program or a file system keeps there. The calls answer ENOSYS, as in a
// kernel without keyrings. The program is classic BPF (seccomp(2)), an array of `struct sock_filter`.
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { endianness, tmpdir } from 'node:os';
import { join } from 'node:path';

/** One architecture that a process of this machine may call the kernel as: linux/audit.h, and the tables of system calls. */
interface Architecture {
  readonly audit: number;
  /** `add_key`, `request_key` and `keyctl`, which follow each other everywhere. */
  readonly first: number;
  /** A bit that marks calls of another table with the same `audit`: all of them are refused. */
  readonly otherTable?: number;
}

const ARCHITECTURES: Readonly<Record<string, readonly Architecture[]>> = {
  x64: [
    { audit: 0xc000_003e, first: 248, otherTable: 0x4000_0000 },
    { audit: 0x4000_0003, first: 286 },
  ],
  arm64: [
    { audit: 0xc000_00b7, first: 217 },
    { audit: 0x4000_0028, first: 309 },
  ],
};

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_BITS = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff_0000;
const REFUSE = 0x0005_0000 | 38; // SECCOMP_RET_ERRNO with ENOSYS
const AT_NUMBER = 0;
const AT_ARCHITECTURE = 4;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** Null for an architecture whose numbers are not known here. */
export function keyringFilter(arch: string = process.arch): Buffer | null {
  const known = ARCHITECTURES[arch];
  if (known === undefined || endianness() !== 'LE') return null;
  const blocks = known.map(checkCalls);
  const program: readonly Instruction[] = [
    [LOAD, 0, 0, AT_ARCHITECTURE],
    ...blocks.flatMap((block, index) => [[JUMP_EQUAL, 0, block.length, known[index]?.audit ?? 0] as const, ...block]),
    // An architecture that this machine is not known to run.
    [RETURN, 0, 0, REFUSE],
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}

function checkCalls({ first, otherTable }: Architecture): readonly Instruction[] {
  const table: readonly Instruction[] = otherTable === undefined ? [] : [[JUMP_BITS, 3, 0, otherTable]];
  return [
    [LOAD, 0, 0, AT_NUMBER],
    ...table,
    [JUMP_AT_LEAST, 0, 1, first],
    [JUMP_AT_LEAST, 0, 1, first + 3],
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, REFUSE],
  ];
}

/** Runs `use` with a descriptor that reads these bytes. */
export function withDescriptor<T>(bytes: Uint8Array, use: (fd: number) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'refold-filter-'));
  try {
    const path = join(directory, 'filter');
    writeFileSync(path, bytes, { mode: 0o600 });
    const fd = openSync(path, 'r');
    try {
      return use(fd);
    } finally {
      closeSync(fd);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
