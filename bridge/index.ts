// The sub-path `refold/bridge`: the bridge as a library, for programs that run it in their own process or simulate it.
export { type BridgeClock, systemClock } from '../src/clock.ts';
export { MODEL_SERVERS, type ModelServerName } from '../src/files/model-servers.ts';
export { CallAsk } from './executors/call-ask.ts';
export { CallReport, failedReport } from './executors/call-report.ts';
export { type StopReason, stopReasonOf } from './executors/stop-switch.ts';
export {
  type CallContext,
  type CallTarget,
  type Executor,
  type Executors,
  type Preview,
  type ResumedWith,
  type Restore,
  combineExecutors,
} from './executors/executors.ts';
export { PreviewReport } from './executors/preview-report.ts';
export { hostExecutor } from './executors/host-executor.ts';
export { type NotRecorded, type RecordedToolsOptions, recordedTools } from './executors/recorded-tools.ts';
export { type Host, type HostOptions, openHost } from './host/open-host.ts';
export type { HostPreview } from './host/preview/host-previews.ts';
export type { RestorableFile } from './host/undo/restore-files.ts';
export type { BridgeLedger } from './ledger/bridge-ledger.ts';
export { openFileLedger } from './ledger/file-ledger.ts';
export type { BridgeLogLine } from './log.ts';
export { type BridgeOptions, runBridge } from './loop.ts';
export { type ApiProviderOptions, apiProvider } from './providers/api/api-provider.ts';
export {
  type GenerateReply,
  type GenerateRequest,
  type Message,
  type MessageCall,
  type Provider,
  ProviderError,
  type ProviderErrorCode,
  type ReplyCall,
  type ReplyDelta,
} from './providers/provider.ts';
export { recordedProvider } from './providers/recorded.ts';
export { type Script, scriptedProvider } from './providers/scripted.ts';
export { type TranscriptBlobs, renderTranscript } from './generate/transcript.ts';
