// Where the page begins. As long as it draws nothing, it only takes the code out of the address.
const { history, location } = globalThis as unknown as {
  readonly history: { replaceState(state: null, unused: string, url: string): void };
  readonly location: { readonly pathname: string };
};

history.replaceState(null, '', location.pathname);
