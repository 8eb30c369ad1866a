import { describeContract } from '../contract.ts';
import { converseSample } from './sample.ts';

describeContract('Converse', converseSample);
