// refold's own bridge as a simulated bridge, with a ledger when the scenario has files.
import { combineExecutors, runBridge } from '../../../bridge/index.ts';
import { noBridgeLedger, openBridgeLedger } from '../../../bridge/ledger/bridge-ledger.ts';
import { type Provider, ProviderError } from '../../../bridge/providers/provider.ts';
import { type Model, ModelError, type SimulatedBridge } from '../../../src/testing/index.ts';

export const refoldBridge: SimulatedBridge = async ({
  model,
  tools,
  runTool,
  preview,
  restore,
  files,
  isAlive,
  ...world
}) => {
  const { owner } = world;
  const ledger =
    files === null ? noBridgeLedger : await openBridgeLedger(files, { owner, nonce: owner, tag: owner, isAlive });
  await runBridge({
    ...world,
    ledger,
    provider: providerOf(model),
    executors: combineExecutors([
      { tools, run: runTool, resumes: true, restore, ...(preview === null ? {} : { preview }) },
    ]),
    log: () => undefined,
  });
};

/** The model as a provider: what it says about a failure, in the words of the bridge. */
const providerOf = (model: Model): Provider => ({
  generate: async (request, signal, onDelta) => {
    try {
      return await model.generate(request, signal, onDelta);
    } catch (error) {
      throw error instanceof ModelError ? new ProviderError(error.code, error.message) : error;
    }
  },
});
