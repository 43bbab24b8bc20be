/**
 * The thirteen WASI calls that flite makes, with files in memory: what is said to a caller never touches a
 * disk, and Node's own WASI (still experimental, and wanting a real folder) is not needed.
 * Source: WASI snapshot preview 1.
 *
 * @module
 */

const ERRNO = { success: 0, badf: 8, inval: 28, noent: 44 } as const;
const FILETYPE = { characterDevice: 2, directory: 3, regular: 4 } as const;
const OFLAGS_CREATE = 1;
const OFLAGS_TRUNCATE = 8;

/** The one folder that the program sees. */
const ROOT_FD = 3;

interface OpenFile {
  readonly name: string;
  position: number;
}

/** Thrown through the program to end it. */
class Exit extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`exit ${status}`);
    this.status = status;
  }
}

/** A file that grows as it is written. */
class MemoryFile {
  #bytes: Uint8Array;
  #length: number;

  constructor(content: Uint8Array = new Uint8Array(0)) {
    this.#bytes = content;
    this.#length = content.length;
  }

  get length(): number {
    return this.#length;
  }

  get content(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  write(at: number, data: Uint8Array): void {
    const end = at + data.length;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.#bytes.length * 2, 65_536));
      grown.set(this.content);
      this.#bytes = grown;
    }
    this.#bytes.set(data, at);
    this.#length = Math.max(this.#length, end);
  }
}

function isProgram(exports: object): exports is { memory: WebAssembly.Memory; _start: () => void } {
  return 'memory' in exports && exports.memory instanceof WebAssembly.Memory && '_start' in exports;
}

/**
 * Runs a WASI program to its end.
 *
 * @param files - the files of its root folder, by name
 * @returns its exit status and the files of its root folder afterwards
 */
export function runWasi(
  module: WebAssembly.Module,
  args: readonly string[],
  files: Readonly<Record<string, Uint8Array>> = {},
): { status: number; files: ReadonlyMap<string, Uint8Array> } {
  const folder = new Map(Object.entries(files).map(([name, bytes]) => [name, new MemoryFile(bytes)]));
  const open = new Map<number, OpenFile>();
  const argBytes = args.map((arg) => Buffer.from(`${arg}\0`));
  let nextFd = ROOT_FD + 1;
  let memory: WebAssembly.Memory;
  const view = () => new DataView(memory.buffer);
  const bytesAt = (pointer: number, length: number) => new Uint8Array(memory.buffer, pointer, length);

  /** Calls `each` with the buffers of an iovec list until it says that it is done. */
  const eachBuffer = (list: number, count: number, each: (buffer: Uint8Array) => boolean) => {
    for (let i = 0; i < count; i++) {
      const pointer = view().getUint32(list + i * 8, true);
      if (!each(bytesAt(pointer, view().getUint32(list + i * 8 + 4, true)))) return;
    }
  };

  const calls = {
    args_sizes_get(countPointer: number, sizePointer: number) {
      view().setUint32(countPointer, argBytes.length, true);
      view().setUint32(sizePointer, Buffer.concat(argBytes).length, true);
      return ERRNO.success;
    },
    args_get(argvPointer: number, bufferPointer: number) {
      let at = bufferPointer;
      argBytes.forEach((bytes, i) => {
        view().setUint32(argvPointer + i * 4, at, true);
        bytesAt(at, bytes.length).set(bytes);
        at += bytes.length;
      });
      return ERRNO.success;
    },
    clock_time_get(_clock: number, _precision: bigint, timePointer: number) {
      // Only its benchmark mode reads the time; a constant keeps the program a function of its input.
      view().setBigUint64(timePointer, 0n, true);
      return ERRNO.success;
    },
    fd_prestat_get(fd: number, pointer: number) {
      if (fd !== ROOT_FD) return ERRNO.badf;
      view().setUint32(pointer, 0, true);
      view().setUint32(pointer + 4, 1, true);
      return ERRNO.success;
    },
    fd_prestat_dir_name(fd: number, pointer: number, length: number) {
      if (fd !== ROOT_FD || length < 1) return ERRNO.badf;
      bytesAt(pointer, 1)[0] = 0x2f;
      return ERRNO.success;
    },
    fd_fdstat_get(fd: number, pointer: number) {
      if (fd > ROOT_FD && !open.has(fd)) return ERRNO.badf;
      const type =
        fd === ROOT_FD ? FILETYPE.directory : fd < ROOT_FD ? FILETYPE.characterDevice : FILETYPE.regular;
      bytesAt(pointer, 24).fill(0);
      view().setUint8(pointer, type);
      view().setBigUint64(pointer + 8, 0xffffffffn, true);
      view().setBigUint64(pointer + 16, 0xffffffffn, true);
      return ERRNO.success;
    },
    fd_fdstat_set_flags() {
      return ERRNO.success;
    },
    path_open(
      _folder: number,
      _lookup: number,
      pathPointer: number,
      pathLength: number,
      flags: number,
      _rights: bigint,
      _inherited: bigint,
      _fdFlags: number,
      fdPointer: number,
    ) {
      const name = Buffer.from(bytesAt(pathPointer, pathLength)).toString('utf8');
      if (!folder.has(name) && !(flags & OFLAGS_CREATE)) return ERRNO.noent;
      if (!folder.has(name) || flags & OFLAGS_TRUNCATE) folder.set(name, new MemoryFile());
      const fd = nextFd++;
      open.set(fd, { name, position: 0 });
      view().setUint32(fdPointer, fd, true);
      return ERRNO.success;
    },
    fd_close(fd: number) {
      return open.delete(fd) || fd < ROOT_FD ? ERRNO.success : ERRNO.badf;
    },
    fd_read(fd: number, list: number, count: number, readPointer: number) {
      const file = open.get(fd);
      const content = file ? folder.get(file.name)?.content : fd === 0 ? new Uint8Array(0) : undefined;
      if (!content) return ERRNO.badf;
      let read = 0;
      eachBuffer(list, count, (buffer) => {
        const from = (file?.position ?? 0) + read;
        const part = content.subarray(from, from + buffer.length);
        buffer.set(part);
        read += part.length;
        return part.length === buffer.length;
      });
      if (file) file.position += read;
      view().setUint32(readPointer, read, true);
      return ERRNO.success;
    },
    fd_write(fd: number, list: number, count: number, writtenPointer: number) {
      const file = open.get(fd);
      if (!file && fd !== 1 && fd !== 2) return ERRNO.badf;
      let written = 0;
      eachBuffer(list, count, (buffer) => {
        if (file) folder.get(file.name)?.write(file.position + written, buffer);
        written += buffer.length;
        return true;
      });
      if (file) file.position += written;
      view().setUint32(writtenPointer, written, true);
      return ERRNO.success;
    },
    fd_seek(fd: number, offset: bigint, whence: number, positionPointer: number) {
      const file = open.get(fd);
      if (!file) return ERRNO.badf;
      const base = [0, file.position, folder.get(file.name)?.length ?? 0][whence];
      const position = (base ?? -1) + Number(offset);
      if (base === undefined || position < 0) return ERRNO.inval;
      file.position = position;
      view().setBigUint64(positionPointer, BigInt(position), true);
      return ERRNO.success;
    },
    proc_exit(status: number) {
      throw new Exit(status);
    },
  };

  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: calls });
  const program = instance.exports;
  if (!isProgram(program)) throw new Error('Not a WASI program.');
  memory = program.memory;
  let status = 0;
  try {
    program._start();
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    status = error.status;
  }
  return { status, files: new Map([...folder].map(([name, file]) => [name, file.content])) };
}
