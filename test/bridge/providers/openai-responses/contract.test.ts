import { describeContract } from '../contract.ts';
import { responsesSample } from './sample.ts';

describeContract('Responses', responsesSample);
