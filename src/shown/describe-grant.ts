// What a grant allows, in words.
import type { GrantScope } from '../../schemas/consent.ts';
import type { RequiredAction } from '../core/status.ts';
import { visible } from './visible.ts';

/** What the grant allows from now on, in one sentence. */
export function describeGrant({ tool_name, arguments: args = {} }: RequiredAction, grant: GrantScope): string {
  const { argument, pattern } = grant;
  const begin = `until the policy is replaced, calls of ${visible(tool_name)} run without a question`;
  if (argument === undefined || pattern === undefined) return `${begin}, with any arguments`;
  const { [argument]: _granted, ...others } = args;
  const rest =
    Object.keys(others).length === 0
      ? 'there is no other argument'
      : `every other argument is exactly as in this call: ${visible(JSON.stringify(others))}`;
  return `${begin} if ${visible(argument)} matches ${visible(pattern)} and ${rest}`;
}
