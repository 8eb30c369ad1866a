import { describe } from 'vitest';
import { describeContract } from '../contract.ts';
import { responsesSample } from './sample.ts';

describe('Responses', () => describeContract(responsesSample));
