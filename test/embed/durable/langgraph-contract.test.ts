// The adapter of LangGraph keeps the contract of all adapters.
import { describeLoop } from './contract.ts';
import { langgraphDriver } from './langgraph-driver.ts';

describeLoop(langgraphDriver);
