import { describeContract } from '../contract.ts';
import { messagesSample, vertexSample } from './sample.ts';

describeContract('Messages', messagesSample);
describeContract('Messages on Vertex', vertexSample);
