import { describe } from 'vitest';
import { describeContract } from '../contract.ts';
import { converseSample } from './sample.ts';

describe('Converse', () => describeContract(converseSample));
