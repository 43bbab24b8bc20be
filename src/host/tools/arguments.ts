/**
 * Reading validated arguments. The registry has checked types against the schema; these say so to the compiler.
 *
 * @module
 */

import type { JsonSchema } from '../../gateway/index.ts';
import type { ToolArguments } from '../registry-tool.ts';

export function textArg(args: ToolArguments, key: string): string | null {
  const value = Object.hasOwn(args, key) ? args[key] : undefined;
  return typeof value === 'string' ? value : null;
}

export function integerArg(args: ToolArguments, key: string): number | null {
  const value = Object.hasOwn(args, key) ? args[key] : undefined;
  return typeof value === 'number' ? value : null;
}

export function flagArg(args: ToolArguments, key: string): boolean {
  return Object.hasOwn(args, key) && args[key] === true;
}

/** Parameters that take nothing but what they name, so that a misspelt one is told and not ignored. */
export function strictParameters(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema {
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}
