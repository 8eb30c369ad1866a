// A stored tool package that is known is not parsed again; the result must be the same.
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { canonicalText, digestJson, digestText } from '../../schemas/canonical.ts';
import { decode } from '../../schemas/index.ts';
import { freezeJson } from '../../schemas/json.ts';
import { ToolPackage } from '../../schemas/tool-set.ts';
import { checkGenesis, defaultGenesis, packageDigest } from '../../src/core/index.ts';
import { readPackageText } from '../../src/core/package-parts.ts';
import { randomFrom, roundsOf } from '../support/random.ts';
import { testPackage, tool } from '../support/tools.ts';

const text = canonicalText(testPackage());
const digest = packageDigest(testPackage());

/** A package that no other test uses, so that it is not known yet. */
const unknown = { ...testPackage(), registry: [...testPackage().registry, tool('only_here')] };

describe('the text of a tool package', () => {
  test('is read back frozen and shared, with the package known or not', () => {
    const [first, second] = [1, 2].map(() => readPackageText(canonicalText(unknown), digestJson(unknown)));
    if (first === undefined || second === undefined || isLeft(first) || isLeft(second)) throw new Error('refused');
    expect(first.right).toEqual(unknown);
    expect(Object.isFrozen(first.right)).toBe(true);
    expect(second.right).toBe(first.right);
  });

  test('is refused when any of it is damaged, although the package is known', () => {
    expect(isRight(readPackageText(text, digest))).toBe(true);
    const random = randomFrom(1);
    for (let round = 0; round < roundsOf(250, 20_000); round += 1) {
      const at = random.below(text.length);
      const other = random.pick(['"', '{', '}', ',', ':', '0', 'v', ' ', '\\', '']);
      const damaged = text.slice(0, at) + other + text.slice(at + (random.oneIn(3) ? 0 : 1));
      if (damaged !== text)
        expect(readPackageText(damaged, digest)).toMatchObject({ left: { code: 'digest_mismatch' } });
    }
  });

  test('with the digest of another package is refused, and so is a text that is no package', () => {
    expect(readPackageText(text, digestJson('another package'))).toMatchObject({ left: { code: 'digest_mismatch' } });
    for (const bad of ['', '{', 'null', '{}', text.replace('"registry":[', '"registry":[null,')]) {
      expect(isLeft(readPackageText(bad, digestText(bad)))).toBe(true);
    }
  });

  test('must be the one that the genesis names', () => {
    const genesis = defaultGenesis({ tool_package: testPackage() });
    expect(isRight(checkGenesis(genesis, testPackage()))).toBe(true);
    expect(checkGenesis(genesis, unknown)).toMatchObject({
      left: { code: 'digest_mismatch', path: '/tool_package_digest' },
    });
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
