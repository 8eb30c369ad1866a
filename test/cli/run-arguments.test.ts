import { afterEach, describe, expect, test, vi } from 'vitest';
import { bridgeArguments, runArguments } from '../../src/cli/run-arguments.ts';
import { MODEL_SERVERS } from '../../src/files/model-servers.ts';
import { isSecretName } from '../../src/files/secret-variables.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** An environment without any model. */
function forget(): void {
  for (const { keyVariables, baseUrlVariable, modelVariable } of Object.values(MODEL_SERVERS)) {
    for (const name of [...keyVariables, baseUrlVariable, modelVariable]) vi.stubEnv(name, '');
  }
}

test('every variable of a key is known as a secret, so that no command inherits it', () => {
  const names = Object.values(MODEL_SERVERS).flatMap(({ keyVariables }) => keyVariables);
  expect(names.filter((name) => !isSecretName(name))).toEqual([]);
});

test.each(['AWS_SECRET_ACCESS_KEY', 'STRIPE_SECRET_KEY', 'AZURE_OPENAI_KEY', 'PGPASSWORD', 'SSH_PASSPHRASE'])(
  '%s is known as a secret, too',
  (name) => expect(isSecretName(name)).toBe(true),
);

describe('the model server', () => {
  test.each([
    ['openai-chat', 'OPENAI_API_KEY', 'openai'],
    ['openai-responses', 'OPENAI_API_KEY', 'openai'],
    ['anthropic', 'ANTHROPIC_API_KEY', 'anthropic'],
    ['gemini', 'GEMINI_API_KEY', 'gemini'],
    ['gemini', 'GOOGLE_API_KEY', 'gemini'],
    ['bedrock', 'AWS_BEARER_TOKEN_BEDROCK', 'bedrock'],
  ])('of %s takes its key from %s, on no command line', async (api, variable, provider) => {
    forget();
    vi.stubEnv(variable, 'a-key-of-many-characters');
    const { bridgeArgs, secrets, config } = await runArguments({ api, model: 'm' });
    expect(secrets).toEqual({ [variable]: 'a-key-of-many-characters' });
    expect(bridgeArgs.join(' ')).toContain(`--provider api --api ${api} --fallback-model m --model m`);
    expect(bridgeArgs.join(' ')).not.toContain('a-key');
    expect(config).toMatchObject({ provider, model: 'm' });
  });

  test('may need an address, a key or a model, and says so', async () => {
    forget();
    expect(() => bridgeArguments({ api: 'anthropic' })).toThrow(/Set ANTHROPIC_API_KEY, or give the --base-url/);
    expect(() => bridgeArguments({ api: 'vertex-anthropic' })).toThrow(/Give --base-url for vertex-anthropic/);
    vi.stubEnv('ANTHROPIC_API_KEY', 'a-key-of-many-characters');
    await expect(runArguments({ api: 'anthropic' })).rejects.toThrow(
      /no model is named\. Give --model NAME, or set ANTHROPIC_MODEL/,
    );
    // A bridge serves sessions that name their model.
    expect(bridgeArguments({ api: 'anthropic' }).args).not.toContain('--fallback-model');
    vi.stubEnv('ANTHROPIC_MODEL', 'claude-x');
    expect((await runArguments({ api: 'anthropic' })).config).toMatchObject({ model: 'claude-x' });
  });
});
