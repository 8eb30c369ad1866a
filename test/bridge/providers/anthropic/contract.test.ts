import { describe } from 'vitest';
import { describeContract } from '../contract.ts';
import { messagesSample, vertexSample } from './sample.ts';

describe('Messages', () => describeContract(messagesSample));
describe('Messages on Vertex', () => describeContract(vertexSample));
