export * from './project.ts';
export { rowText, type SessionRow } from './rows.ts';
export * from './sessions.ts';
