// refold's own bridge as the simulator takes it.
import { combineExecutors, runBridge } from '../../../bridge/index.ts';
import type { SimulatedBridge } from '../../../src/testing/index.ts';

export const refoldBridge: SimulatedBridge = ({ model, tools, runTool, ...world }) =>
  runBridge({
    ...world,
    provider: model,
    executors: combineExecutors([{ tools, run: runTool }]),
    log: () => undefined,
  });
