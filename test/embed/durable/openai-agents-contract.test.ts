// The adapter of OpenAI Agents JS keeps the contract of all adapters.
import { describeLoop } from './contract.ts';
import { openaiAgentsDriver } from './openai-agents-driver.ts';

describeLoop(openaiAgentsDriver(false));
describeLoop(openaiAgentsDriver(true));
