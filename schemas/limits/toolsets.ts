// The bounds of toolsets, of what a generate offers of many tools, and of the search in the others. `schemas/limits.ts`
// exports them with all others.

/** Most tools of a session, with those of its toolsets. A toolset that would exceed it is refused as `toolsets_full`. */
export const REGISTRY_TOOLS_MAX = 2_048;
/** Most toolsets of a session. A further one is refused as `toolsets_full`. */
export const TOOLSETS_MAX = 64;
/** Most tools of one toolset. A toolset with more is refused as `invalid_shape`. */
export const TOOLSET_TOOLS_MAX = 512;
/** Most approved definitions of one toolset. Beyond it, those of tools that went away are forgotten. */
export const TOOLSET_PINS_MAX = 1_024;
/** Tools that are offered with a generate, unless the config sets another number. The others are found with `tools_find`. */
export const OFFER_DEFAULT = 64;
/** Tools that one call of `tools_find` returns at most, unless it asks for another number. */
export const FINDS_DEFAULT = 8;
/** Most tools that one call of `tools_find` returns. It reports how many more there are. */
export const FINDS_MAX = 16;
/** Most calls of `tools_find` in one batch that search. A further one finds nothing, and its answer says so. */
export const SEARCHES_PER_BATCH_MAX = 16;
/** Longest query of `tools_find` that is read, in UTF-16 units, and most words of it. The rest does not count. */
export const QUERY_CHARS_MAX = 512;
export const QUERY_WORDS_MAX = 8;
/** How much of a description is searched, in UTF-16 units. */
export const SEARCHED_CHARS_MAX = 512;
/** Longest line about a tool that was found, in UTF-16 units. The rest is cut. */
export const FOUND_LINE_CHARS_MAX = 160;
/** Most characters of JSON that the finds of one call take, so that its answer stays inline. It reports how many more there are. */
export const FOUND_CHARS_MAX = 3_200;
