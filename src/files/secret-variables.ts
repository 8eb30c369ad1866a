// Environment variables that hold secrets, by their names.

export const isSecretName = (name: string): boolean =>
  /(^|_)((API|ACCESS|SECRET|ACCOUNT|OPENAI)_?KEY|SECRET|TOKEN|TOKEN_BEDROCK|(PG)?PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)$/i.test(
    name,
  );

/** The variables whose names say that they hold secrets. */
export const secretVariables = (env: NodeJS.ProcessEnv): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => isSecretName(entry[0]) && (entry[1] ?? '') !== ''),
  );
