// The sub-path `refold/bridge`: the bridge as a library, for those who run it in a process of their own or simulate it.
export { type Clock, systemClock } from './clock.ts';
export { CallReport, failedReport } from './executors/call-report.ts';
export {
  type CallContext,
  type CallTarget,
  type Executor,
  type Executors,
  combineExecutors,
} from './executors/executors.ts';
export type { BridgeLogLine } from './log.ts';
export { type BridgeOptions, runBridge } from './loop.ts';
export {
  type GenerateReply,
  type GenerateRequest,
  type Message,
  type Provider,
  ProviderError,
} from './providers/provider.ts';
export { openAiCompatible } from './providers/openai-compatible.ts';
export { recordedProvider } from './providers/recorded.ts';
export { scriptedProvider } from './providers/scripted.ts';
