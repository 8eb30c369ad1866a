// What a provider answered, without what went over the wire.
import type { GenerateReply } from '../../../bridge/providers/provider.ts';

export async function turnOf(answer: Promise<GenerateReply>): Promise<GenerateReply> {
  const { exchange: _, ...turn } = await answer;
  return turn;
}
