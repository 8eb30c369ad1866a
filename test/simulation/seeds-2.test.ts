// Half 2 of 2 of the simulated seeds: refold's engine and bridge obey every law.
import { testSeeds } from '../support/simulation/seeds.ts';

testSeeds(1);
