// The first difference of two requests is named by its path.
import { expect, test } from 'vitest';
import { firstDifference } from '../../../../bridge/providers/cassette/difference.ts';

test.each([
  ['{"a":[1,{"b":"x"}]}', '{"a":[1,{"b":"y"}]}', '/a/1/b', '"x"', '"y"'],
  ['{"a":1}', '{"a":1,"b":2}', '/b', 'nothing', '2'],
  ['{"a/b~":1}', '{"a/b~":null}', '/a~1b~0', '1', 'null'],
  ['{"n":12345678901234567890}', '{"n":12345678901234567891}', '/n', '12345678901234567890', '12345678901234567891'],
  ['[1]', '{"0":1}', '', '[1]', '{"0":1}'],
  ['not json', '{}', '', 'not json', '{}'],
])('of %s and %s', (recorded, sent, ...[path, was, is]) => {
  expect(firstDifference(recorded, sent)).toEqual({ path, recorded: was, sent: is });
});

test('white space and the order of fields make none', () => {
  expect(firstDifference('{"a":1,"b":[2]}', '{ "b": [2], "a": 1 }')).toBeNull();
});

test('a long value is shown by its beginning', () => {
  const { recorded = '' } = firstDifference('{"a":1}', `{"a":"${'x'.repeat(9_999)}"}`) ?? {};
  expect(recorded).toBe('1');
  expect(firstDifference('{"a":1}', `{"a":"${'x'.repeat(9_999)}"}`)?.sent.length).toBeLessThan(200);
});
