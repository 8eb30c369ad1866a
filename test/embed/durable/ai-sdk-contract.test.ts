// The adapter of the AI SDK keeps the contract of all adapters.
import { aiSdkDriver } from './ai-sdk-driver.ts';
import { describeLoop } from './contract.ts';

describeLoop(aiSdkDriver(false));
describeLoop(aiSdkDriver(true));
