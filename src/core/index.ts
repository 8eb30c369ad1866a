// The sub-path `refold/core`: the pure core, without I/O. It runs in a browser.
export { computeEffectiveTools, type EffectiveToolsInput } from '../../reducers/effective-tools.ts';
export { decideConsent, type ConsentDecision } from '../../reducers/consent.ts';
export { planBatch, planHash, type PlanContext } from '../../reducers/planner.ts';
export type { RuleSet } from '../../reducers/rules/rule-set.ts';
export { ownTools } from '../../reducers/toolsets/members.ts';
export { CALL_TRANSITIONS } from '../../reducers/call-status.ts';
export { RUN_TRANSITIONS } from '../../reducers/run-phases.ts';
export { canonicalBytes, digest } from '../../schemas/canonical.ts';
export { eventDigest, genesisChain, genesisDigest, nextChain } from './chain.ts';
export { type ChainCheck, type ChainChecked, newChainCheck } from './chain-check.ts';
export {
  type CheckpointFault,
  type CheckpointWatch,
  checkpointHead,
  compareWithCheckpoint,
  findTreeFault,
  leafOf,
  newCheckpointWatch,
  proveSession,
} from './checkpoint.ts';
export { type Conflict, conflictBetween } from '../../reducers/conflict.ts';
export { type ContentRef, contentRefs } from './content-refs.ts';
export { type JsonDiff, type JsonDifference, diffJson } from './compare/diff.ts';
export {
  type StreamDiff,
  type StreamDiffOptions,
  type StreamDiffer,
  diffStreams,
  newStreamDiffer,
} from './compare/diff-streams.ts';
export { effects } from './effects.ts';
export { type CallExplanation, type CallHistory, explainCall, newCallHistory } from './explain-call.ts';
export { type ToolExplanation, type ToolHistory, explain, newToolHistory } from './explain-tools.ts';
export {
  type CompactionExplanation,
  type CompactionHistory,
  explainCompactions,
  newCompactionHistory,
} from './explain-compaction.ts';
export { type TurnExplanation, type TurnHistory, explainTurn, newTurnHistory } from './explain-turn.ts';
export { type ForkEnd, type ForkOrder, type Forker, forkedGenesis, newForker } from './copies/fork.ts';
export { DEFAULT_CONFIG, type GenesisOverrides, defaultGenesis, defaultOrigin } from './genesis.ts';
export type { FoldedEvent } from './folded-event.ts';
export { type Origin, checkGenesis, initialState } from './initial-state.ts';
export { type LawCheck, newLawCheck } from './law-check.ts';
export type { LawBreach, LawOnRecord } from './laws/breach.ts';
export { packageDigest } from './package-parts.ts';
export { type LineageCheck, type LineageFault, newLineageCheck } from './lineage.ts';
export {
  type Divergence,
  type Replay,
  type ReplayOptions,
  type ReplayStart,
  type Replayer,
  newReplayer,
  replay,
} from './replay.ts';
export { stateBytes, stateDigest } from './state-digest.ts';
export {
  type Elicitation,
  type PersonEffect,
  type RequiredAction,
  type SessionStatus,
  elicitations,
  personEffects,
  questionDigest,
  requiredActions,
  sessionStatus,
} from './status.ts';
export { type Folded, type NewStep, type Step, decodeEvent, foldEvent, step, stepNew } from './step.ts';
export { type CallArguments, argumentsOf } from '../../schemas/tool-call.ts';
export { resultsDigest } from '../../reducers/batch-results.ts';
export { type CallResult, type RunResults, newRunResults } from './run-results.ts';
export { type CallSpan, type CallTimeline, type Timeline, type TurnTimeline, newTimeline } from './timeline.ts';
export type {
  ClientEvent,
  ClientEventData,
  ContentBlock,
  HitlRequestData,
  HitlResolvedData,
  LifecycleData,
  StreamErrorData,
  StreamedEvent,
  StreamedInput,
  StreamedText,
  TextData,
  ToolCallData,
  ToolResultData,
} from './stream/client-event.ts';
export { clientEvents } from './stream/client-events.ts';
export { type LiveText, newLiveText } from './stream/live-text.ts';
export { type StreamPlace, placeAfter } from './stream/stream-place.ts';
export {
  type Alternative,
  type Judged,
  type TurnWhatIf,
  type WhatIf,
  newWhatIf,
  toolsUnder,
} from './compare/what-if.ts';
export type { CallChange, CallDecision } from './compare/what-if-calls.ts';
