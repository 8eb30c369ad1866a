// Half 1 of 2 of the seeds: our engine and bridge through whatever happens.
import { testSeeds } from '../support/simulation/seeds.ts';

testSeeds(0);
