/**
 * Reading a JSON Schema fragment the way nanobot reads it.
 *
 * @module
 */

import { isJsonObject } from './registry-arguments.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** The first type that is not `null`. */
export function schemaType(schema: Schema): string | null {
  const type = schema.type;
  if (typeof type === 'string') return type;
  if (!Array.isArray(type)) return null;
  const first: unknown = type.find((each) => each !== 'null');
  return typeof first === 'string' ? first : null;
}

export function isNullable(schema: Schema): boolean {
  return schema.nullable === true || (Array.isArray(schema.type) && schema.type.includes('null'));
}

/** The fragment for a property that the schema names, else `null`. */
export function propertySchema(schema: Schema, key: string): Schema | null {
  const properties = schema.properties;
  if (!isJsonObject(properties) || !Object.hasOwn(properties, key)) return null;
  const property = properties[key];
  return isJsonObject(property) ? property : {};
}

/** What `additionalProperties` says: a schema, `false`, or anything goes. */
export function additionalSchema(schema: Schema): Schema | false | null {
  const additional = schema.additionalProperties;
  if (additional === false) return false;
  return isJsonObject(additional) ? additional : null;
}
