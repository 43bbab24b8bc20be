/**
 * A drawing as data: `call.html` writes it down as SVG, the operator's page makes elements of it.
 *
 * Runs in browsers too.
 *
 * @module
 */

export interface Shape {
  readonly tag: 'svg' | 'g' | 'rect' | 'line' | 'path' | 'text' | 'title';
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly children: readonly (Shape | string)[];
}

export function shape(
  tag: Shape['tag'],
  attributes: Shape['attributes'] = {},
  ...children: readonly (Shape | string)[]
): Shape {
  return { tag, attributes, children };
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ESCAPES[char] ?? char);
}

export function toMarkup({ tag, attributes, children }: Shape): string {
  const written = Object.entries(attributes).map(
    ([name, value]) => ` ${name}="${escapeHtml(String(value))}"`,
  );
  const inside = children.map((child) => (typeof child === 'string' ? escapeHtml(child) : toMarkup(child)));
  return `<${tag}${written.join('')}>${inside.join('')}</${tag}>`;
}
