// The adapter of LangGraph keeps the contract of all adapters.
import { describeBinding, describeLoop } from './contract.ts';
import { langgraphDriver } from './langgraph-driver.ts';

describeLoop(langgraphDriver(true));
describeBinding(langgraphDriver(false));
