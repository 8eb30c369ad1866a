// refold's own bridge as a simulated bridge, with a ledger when the scenario has files.
import { combineExecutors, runBridge } from '../../../bridge/index.ts';
import { noBridgeLedger, openBridgeLedger } from '../../../bridge/ledger/bridge-ledger.ts';
import type { SimulatedBridge } from '../../../src/testing/index.ts';

export const refoldBridge: SimulatedBridge = async ({ model, tools, runTool, restore, files, isAlive, ...world }) => {
  const { owner } = world;
  const ledger =
    files === null ? noBridgeLedger : await openBridgeLedger(files, { owner, nonce: owner, tag: owner, isAlive });
  await runBridge({
    ...world,
    ledger,
    provider: model,
    executors: combineExecutors([{ tools, run: runTool, restore }]),
    log: () => undefined,
  });
};
