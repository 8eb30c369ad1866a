// The options of a simulated world.
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Engine, EnginePorts } from '../engine/engine.ts';
import type { SimulatedBridge } from './bridge-world.ts';
import type { OwnLaws } from './laws/own-laws.ts';
import type { Scenario } from './scenario.ts';

export type StartEngine = (ports: EnginePorts) => TaskEither<Rejection, Engine>;

export interface SimWorldOptions {
  readonly scenario: Scenario;
  readonly bridge: SimulatedBridge;
  readonly startEngine: StartEngine;
  readonly trace: (line: string) => void;
  readonly laws: OwnLaws;
}
