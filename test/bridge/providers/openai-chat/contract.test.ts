import { describe } from 'vitest';
import { describeContract } from '../contract.ts';
import { chatSample } from './sample.ts';

describe('Chat Completions', () => describeContract(chatSample));
