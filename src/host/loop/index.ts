export * from './agent-loop.ts';
export { PERSONA_FILES, readPersona } from './persona.ts';
export { MAX_TOOL_RESULT_CHARS } from './tool-runner.ts';
