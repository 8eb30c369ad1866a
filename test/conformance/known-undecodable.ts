// Recorded answers with status 200 that are no turn of a model, by the digest that the corpus gives them, and why.
export const UNDECODABLE: ReadonlyMap<string, string> = new Map([
  ['222a1a183b430214', 'the echo of a test service, no completion'],
  ['7c26ce12357b3062', 'an error inside a 200'],
  ['96254a97cc1494d0', 'a response that is still queued: no completion yet'],
  ['f3d605b10e6f43fa', 'a response that is still queued: no completion yet'],
  ['f1eced584485ab72', 'a response that is still queued: no completion yet'],
  // Fixtures: the digest of the whole file.
  ['f843d01a0c20c1a1', 'its second message begins before the first one ends'],
  ['3937cd1379b35bbe', 'two of its events are cut before their last brace, and are not JSON'],
]);
