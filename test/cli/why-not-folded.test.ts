// What `verify` and `replay` say of an event that threw while it was folded.
import { expect, test } from 'vitest';
import { InvariantError } from '../../schemas/rejection.ts';
import { whyNotFolded } from '../../src/cli/audit/source.ts';

test('a broken invariant names itself; any other error is named as what may be a fault of refold', () => {
  expect(whyNotFolded(new InvariantError('a batch is open'))).toBe(': a batch is open');
  expect(whyNotFolded(new TypeError('x is undefined'))).toBe(
    ' (TypeError: x is undefined: if the record was not changed, this is a fault of refold; please report it)',
  );
});
