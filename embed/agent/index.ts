// The sub-path `refold/agent`: an agent of one's own tools in one call.
export { type EnginePlace, EnginePlaceError, type EnginePlaceProblem } from '../runs/engine-place.ts';
export type { Answer, Question, QuestionAddress } from '../runs/questions.ts';
export { type Run, RunUnfinished } from '../runs/live-run.ts';
export type { CallPart, ResultPart, RetractPart, RunPart, RunResult, TextPart } from '../runs/run-parts.ts';
export type { FromJsonSchema, JsonSchema } from '../tools/json-schema.ts';
export type { InputOf, OutputOf, StandardSchema } from '../tools/standard-schema.ts';
export type { ToolContext } from '../tools/run-tool.ts';
export { type ArgumentsOf, type Tool, type ToolOptions, tool } from '../tools/tool.ts';
export { type Agent, type AgentOptions, type RunOptions, createAgent } from './create-agent.ts';
export type { ModelName } from './model.ts';
