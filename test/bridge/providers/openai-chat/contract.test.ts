import { describeContract } from '../contract.ts';
import { chatSample } from './sample.ts';

describeContract('Chat Completions', chatSample);
