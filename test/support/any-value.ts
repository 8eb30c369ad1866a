// Values of every JavaScript type, most of them outside the value domain.
import * as fc from 'fast-check';

const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toJSON', '1', 'constructor', '\uD800', 'a', 'b'));
const leaf = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, true, -0, NaN, Infinity, 1e21, 1n, Symbol('s'), () => 1, new Date(0)),
  fc.double(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\uDC00', 'x'.repeat(70_000), '\u0000'.repeat(100_000)),
);
const strange = fc.constantFrom<unknown>(
  new Map(),
  // eslint-disable-next-line no-sparse-arrays
  [1, , 2],
  Object.assign([1], { extra: 1 }),
  { [Symbol('s')]: 1 },
  Object.assign(Object.create(null) as object, { fine: 1 }),
  Object.create({ inherited: 1 }),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie('list'), tie('object'), strange),
  list: fc.array(tie('value'), { maxLength: 5 }),
  object: fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => {
    const made = {};
    for (const [name, item] of entries) {
      Object.defineProperty(made, name, { value: item, enumerable: true, configurable: true, writable: true });
    }
    return made;
  }),
}));

export const anyValue = (): fc.Arbitrary<unknown> => value;
