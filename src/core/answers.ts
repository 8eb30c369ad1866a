// The events of people's answers. Each names the batch, the call and the digest of the arguments that it answers.
import type { GrantScope } from '../../schemas/consent.ts';
import type { Attachments, Content } from '../../schemas/content.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { ElicitationAnswer } from '../../schemas/elicitation.ts';
import type { Elicitation, RequiredAction } from './status.ts';

const addressOf = ({ batch_id, call_id, arguments_digest }: RequiredAction) => ({
  batch_id,
  call_id,
  arguments_digest,
});

/** `preview`: the digest of the recorded preview that the person was shown; its files are then compared before the call runs. */
export const allowing = (action: RequiredAction, by: string, grant?: GrantScope, preview?: Digest): Ingress => ({
  kind: 'user.tool_confirmation',
  ...addressOf(action),
  result: 'allow',
  by,
  ...(grant === undefined ? {} : { grant }),
  ...(preview === undefined ? {} : { preview }),
});

export interface Denial {
  readonly message?: string;
  /** Arguments for a new call that replaces the denied one. */
  readonly instead?: JsonObject;
}

export const denying = (action: RequiredAction, by: string, { message, instead }: Denial = {}): Ingress => ({
  kind: 'user.tool_confirmation',
  ...addressOf(action),
  result: 'deny',
  by,
  ...(message === undefined || message === '' ? {} : { message: message.slice(0, 1_024).toWellFormed() }),
  ...(instead === undefined
    ? {}
    : {
        instead: {
          call_id: `${action.call_id.slice(0, 120)}-edited` as RequiredAction['call_id'],
          tool_name: action.tool_name,
          arguments: instead,
        },
      }),
});

export interface Fulfilment {
  readonly success: boolean;
  readonly output: Content;
  readonly attachments?: Attachments;
  readonly data?: JsonObject;
}

export const fulfilling = (
  action: RequiredAction,
  by: string,
  { success, output, attachments, data }: Fulfilment,
): Ingress => ({
  kind: 'user.custom_tool_result',
  ...addressOf(action),
  by,
  result: { success, ...(success ? {} : { needsFollowup: true }), ...(data === undefined ? {} : { data }) },
  output,
  ...(attachments === undefined ? {} : { attachments }),
});

/** Answers what a call asks. */
export const eliciting = (
  { batch_id, call_id, attempt, question }: Elicitation,
  by: string,
  { action, content }: ElicitationAnswer,
): Ingress => ({
  kind: 'user.elicitation_result',
  batch_id,
  call_id,
  attempt,
  question,
  action,
  by,
  ...(content === undefined ? {} : { content }),
});
