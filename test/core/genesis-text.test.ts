// A genesis record with a known tool package is read without parsing the package; the result must be the same.
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { canonicalText, digestJson } from '../../schemas/canonical.ts';
import { type Genesis, decode } from '../../schemas/index.ts';
import { freezeJson, parseJson } from '../../schemas/json.ts';
import { ToolPackage } from '../../schemas/tool-set.ts';
import { checkGenesis, defaultGenesis, genesisChain, genesisText, readGenesisText } from '../../src/core/index.ts';
import { packageDigest } from '../../src/core/package-parts.ts';
import { randomFrom, roundsOf } from '../support/random.ts';
import { testPackage } from '../support/tools.ts';

/** Reads the whole text, without the cache of packages. */
function readWhole(text: string) {
  const parsed = parseJson(text, 1_000_000);
  return isLeft(parsed) ? parsed : checkGenesis(freezeJson(parsed.right));
}

const genesis = (overrides: Parameters<typeof defaultGenesis>[0] = {}): Genesis =>
  defaultGenesis({ tool_package: testPackage(), ...overrides });

/** Text that reads like the place of a package. */
const DECEPTIVE = '"tool_package":0,"tool_package_digest":"sha256:","v":2}';

const INSTRUCTIONS = [null, { text: DECEPTIVE }, { text: canonicalText(genesis()).slice(-4_000) }];

describe('the text of a genesis record', () => {
  test('is its canonical text for any content of its other fields', () => {
    for (const instructions of INSTRUCTIONS) {
      const one = genesis({ config: { instructions }, session_id: 'tool_package' });
      expect(genesisText(one)).toBe(canonicalText(one));
    }
  });

  test('is read back into the record, with its package known or not', () => {
    for (const instructions of INSTRUCTIONS) {
      const one = genesis({ config: { instructions } });
      const text = canonicalText(one);
      const [first, second] = [readGenesisText(text), readGenesisText(text)];
      if (isLeft(first) || isLeft(second)) throw new Error('refused');
      expect(second.right).toEqual(JSON.parse(text));
      expect(Object.isFrozen(second.right)).toBe(true);
      expect(second.right.tool_package).toBe(first.right.tool_package);
      expect(genesisChain(second.right)).toBe(digestJson(JSON.parse(text) as Genesis));
    }
  });

  test('is read the same with and without the cache when it is damaged', () => {
    const text = canonicalText(genesis({ config: { instructions: { text: DECEPTIVE } } }));
    expect(isRight(readGenesisText(text))).toBe(true);
    const random = randomFrom(1);
    let refused = 0;
    for (let round = 0; round < roundsOf(1_000, 20_000); round += 1) {
      // Half of the places are outside the package.
      const nearEnd = random.oneIn(2) ? 700 : text.length;
      const at = text.length - 1 - random.below(nearEnd);
      const other = random.pick(['"', '{', '}', ',', ':', '0', 'v', ' ', '\\', '']);
      const damaged = text.slice(0, at) + other + text.slice(at + (random.oneIn(3) ? 0 : 1));
      const read = readGenesisText(damaged);
      expect(read).toEqual(readWhole(damaged));
      if (isLeft(read)) refused += 1;
      else expect(genesisChain(read.right)).toBe(digestJson(JSON.parse(damaged) as Genesis));
    }
    expect(refused).toBeGreaterThan(roundsOf(1_000, 20_000) / 2);
  });

  test('with the digest of another package is refused', () => {
    const text = canonicalText(genesis());
    expect(isRight(readGenesisText(text))).toBe(true);
    const other = digestJson('another package');
    const lying = text.replace(packageDigest(testPackage()), other);
    expect(readGenesisText(lying)).toMatchObject({ left: { code: 'digest_mismatch', path: '/tool_package_digest' } });
  });
});

describe('an accepted tool package', () => {
  test('is checked once when it is frozen, and each time otherwise', () => {
    const open = JSON.parse(canonicalText(testPackage())) as { registry: unknown[] };
    expect(isRight(decode(ToolPackage, open))).toBe(true);
    open.registry.push(null);
    expect(isRight(decode(ToolPackage, open))).toBe(false);
    open.registry.pop();
    let reads = 0;
    const watched = new Proxy(open, {
      get: (target, key) => {
        reads += key === 'registry' ? 1 : 0;
        return Reflect.get(target, key) as unknown;
      },
    });
    freezeJson(open);
    expect([isRight(decode(ToolPackage, watched)), isRight(decode(ToolPackage, watched))]).toEqual([true, true]);
    expect(reads).toBe(1);
  });
});
