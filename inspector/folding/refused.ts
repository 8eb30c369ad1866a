// Why an ask has no answer, thrown where it is found.
import { REJECTIONS, type Rejection } from '../../schemas/rejection.ts';
import type { Refusal } from '../protocol.ts';

export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** The refusal of an engine. */
export const refusalOf = ({ code, message }: Pick<Rejection, 'code' | 'message'>): Refusal => ({
  code,
  message,
  advice: REJECTIONS[code],
});
