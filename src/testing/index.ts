// The sub-path `refold/testing`: a simulator for engines and bridges, arbitraries, and given/when/then over the fold.
// It needs `fast-check`, which is an optional peer dependency.
export { type IngressStream, type IngressStreamOptions, arbitrary } from './arbitraries.ts';
export type { BridgeClock } from '../clock.ts';
export type {
  BridgeWorld,
  FileBefore,
  MachineFile,
  MachineFiles,
  Model,
  ModelDelta,
  ModelLayout,
  ModelMessage,
  ModelReply,
  ModelRequest,
  SimulatedBridge,
  ToolAnswer,
  ToolPreview,
  ToolQuestion,
  ToolResume,
  ToolTarget,
} from './bridge-world.ts';
export { ModelError } from './bridge-world.ts';
export { type CheckBridgeOptions, checkBridge } from './check-bridge.ts';
export { type Fact, type FieldsOf, type Loose, call, eventOf, packageOf, say } from './facts.ts';
export { type Given, type Part, type When, given } from './given.ts';
export type { Violation } from './laws/judge.ts';
export { LAWS, type Law } from './laws/laws.ts';
export type { DurableEvent, OwnLaw, OwnLaws } from './laws/own-laws.ts';
export { type Random, randomFrom } from './random.ts';
export {
  type Act,
  type CallScript,
  type DiskFault,
  type MessageFault,
  type ProcessFault,
  type Scenario,
  type SessionScript,
  type SimToolName,
  type TurnScript,
} from './scenario.ts';
export { scenarioOf, scenarios } from './draw-scenario.ts';
export type { ToolsetAct } from './toolset-script.ts';
export type { AnswerScript, CompactScript, ModelScript } from './model-script.ts';
export type { PreviewScript } from './preview-script.ts';
export type { OutsideScript } from './outside/outside-script.ts';
export { scriptedModel } from './sim-model.ts';
export { type SimulateOptions, type Simulation, simulate } from './simulate.ts';
export type { StartEngine } from './sim-options.ts';
