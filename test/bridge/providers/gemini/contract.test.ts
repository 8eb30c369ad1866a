import { describeContract } from '../contract.ts';
import { generateContentSample } from './sample.ts';

describeContract('generateContent', generateContentSample);
