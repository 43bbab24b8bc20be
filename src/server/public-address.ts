/**
 * Where others reach us: `server.publicUrl`, or the address we listen on when there is none.
 *
 * @module
 */

export class PublicAddress {
  readonly #configured: string | undefined;
  /** Path of `publicUrl`, such as `/voice`; a reverse proxy may hand it on or strip it. */
  readonly #prefix: string;
  #listening = '';

  constructor(publicUrl: string | undefined) {
    this.#configured = publicUrl?.replace(/\/+$/, '');
    this.#prefix =
      this.#configured === undefined ? '' : new URL(this.#configured).pathname.replace(/\/+$/, '');
  }

  /** Called once the server knows its port. */
  setListening(url: string): void {
    this.#listening = url;
  }

  /** The address without a trailing slash. */
  get base(): string {
    return this.#configured ?? this.#listening;
  }

  /** A path of ours as others have to ask for it: behind the path of `publicUrl`. */
  path(path: string): string {
    return this.#prefix + path;
  }

  /** A path (and query) as a request named it, without the prefix of `publicUrl`. */
  strip(target: string): string {
    const prefix = this.#prefix;
    if (prefix === '' || !target.startsWith(prefix)) return target;
    const rest = target.slice(prefix.length);
    return rest === '' ? '/' : /^[/?]/.test(rest) ? rest : target;
  }
}
