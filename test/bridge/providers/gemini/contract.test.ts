import { describe } from 'vitest';
import { describeContract } from '../contract.ts';
import { generateContentSample } from './sample.ts';

describe('generateContent', () => describeContract(generateContentSample));
