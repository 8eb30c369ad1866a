// A model whose answers are a function of the request: for tests and simulation.
import { type GenerateReply, type GenerateRequest, type Provider, ProviderError } from './provider.ts';

/** Null: there is no answer to this request. */
export type Script = (request: GenerateRequest) => GenerateReply | null | Promise<GenerateReply | null>;

export const scriptedProvider = (script: Script): Provider => ({
  async generate(request, signal) {
    if (signal.aborted) throw new ProviderError('cancelled', 'the request was cancelled');
    const reply = await script(request);
    if (reply !== null) return reply;
    throw new ProviderError('provider_terminal', `the script has no answer to ${request.run_id} turn ${request.turn}`);
  },
});
