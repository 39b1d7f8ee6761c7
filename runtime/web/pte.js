// pte.js runs the ExecuTorch programs of a pte_web. Types and documentation are in pte.d.ts.

const ABI_VERSION = 3;
const MAX_RANK = 16;

// The layout of pte_value and pte_value_info, as pte.h has it.
const VALUE = {size: 192, kind: 0, dtype: 4, integer: 8, number: 16, data: 24, nbytes: 32, rank: 40, order: 48, sizes: 64};
const INFO = {size: 168, kind: 0, dtype: 4, dynamism: 8, flags: 12, rank: 16, order: 24, sizes: 40};
const OPTIONS = {size: 48, maxMemory: 0, maxInstructions: 8, seed: 16, data: 32};

const KINDS = ["none", "tensor", "int", "float", "bool", "string"];
const DYNAMISM = ["static", "bounded", "unbounded"];

// The element types by their numbers: name and array.
const DTYPES = new Map([
  [0, ["uint8", Uint8Array]],
  [1, ["int8", Int8Array]],
  [2, ["int16", Int16Array]],
  [3, ["int32", Int32Array]],
  [4, ["int64", BigInt64Array]],
  [5, ["float16", Uint16Array]],
  [6, ["float32", Float32Array]],
  [7, ["float64", Float64Array]],
  [11, ["bool", Uint8Array]],
  [15, ["bfloat16", Uint16Array]],
  [27, ["uint16", Uint16Array]],
  [28, ["uint32", Uint32Array]],
  [29, ["uint64", BigUint64Array]],
]);
const DTYPE_NUMBERS = new Map([...DTYPES].map(([number, [name]]) => [name, number]));

export class PteError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "PteError";
    this.code = code;
  }
}

// Heap is the module's memory and functions.
class Heap {
  constructor(instance) {
    this.exports = instance.exports;
    this.scratch = this.alloc(VALUE.size); // for one struct at a time
    this.names = new Map(); // texts that calls name again and again
  }

  alloc(size) {
    const address = this.exports.pte_alloc(size);
    if (address === 0) throw new PteError(0x21, `there is no memory for ${size} bytes`);
    return address >>> 0;
  }

  free(address) {
    this.exports.pte_free(address);
  }

  // view is made anew for each use: memory that grows leaves older ones empty.
  view() {
    return new DataView(this.exports.memory.buffer);
  }

  // text reads up to a zero, at an address or at one that is stored there.
  text(address) {
    const bytes = new Uint8Array(this.exports.memory.buffer, address);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }

  // call throws the error of a function, if it gives one.
  call(name, ...args) {
    const code = this.exports[name](...args);
    if (code !== 0) throw new PteError(code, this.text(this.exports.pte_last_error() >>> 0));
  }

  // handle calls a function whose last argument is where it writes a handle.
  handle(name, ...args) {
    this.call(name, ...args, this.scratch);
    return this.view().getUint32(this.scratch, true);
  }

  // name calls a function whose last argument is where it writes the address of a text.
  name(name, ...args) {
    return this.text(this.handle(name, ...args));
  }

  // put copies bytes to new memory.
  put(bytes) {
    const address = this.alloc(bytes.length);
    new Uint8Array(this.exports.memory.buffer, address, bytes.length).set(bytes);
    return address;
  }

  // string is address and length of a text, which stays.
  string(text) {
    let place = this.names.get(text);
    if (!place) {
      const bytes = new TextEncoder().encode(text);
      place = [this.put(bytes), bytes.length];
      this.names.set(text, place);
    }
    return place;
  }

  // options writes pte_options and gives the address.
  options({maxMemory = 0, maxInstructions = 0, seed = 0, data = null} = {}) {
    if (data && !(data instanceof Data)) throw new PteError(0x12, `data is ${kindOf(data)}, want what loadData gives`);
    const address = this.alloc(OPTIONS.size), view = this.view();
    view.setBigInt64(address + OPTIONS.maxMemory, BigInt(maxMemory), true);
    view.setBigInt64(address + OPTIONS.maxInstructions, BigInt(maxInstructions), true);
    view.setBigUint64(address + OPTIONS.seed, BigInt(seed), true);
    view.setBigUint64(address + OPTIONS.data, BigInt(data?.handle ?? 0), true);
    return address;
  }

  shape(address, layout) {
    const view = this.view(), rank = view.getUint32(address + layout.rank, true);
    return {
      sizes: Array.from({length: rank}, (_, i) => Number(view.getBigInt64(address + layout.sizes + 8 * i, true))),
      dimOrder: Array.from({length: rank}, (_, i) => view.getUint8(address + layout.order + i)),
    };
  }

  // info reads the pte_value_info at the scratch address.
  info() {
    const view = this.view(), at = this.scratch, kind = KINDS[view.getInt32(at + INFO.kind, true)];
    if (kind !== "tensor") return {kind};
    return {
      kind,
      dtype: DTYPES.get(view.getInt32(at + INFO.dtype, true))[0],
      dynamism: DYNAMISM[view.getInt32(at + INFO.dynamism, true)],
      written: (view.getUint32(at + INFO.flags, true) & 2) !== 0,
      ...this.shape(at, INFO),
    };
  }

  // value reads the pte_value at the scratch address, and copies its elements.
  value() {
    const view = this.view(), at = this.scratch;
    const data = Number(view.getBigUint64(at + VALUE.data, true)), nbytes = Number(view.getBigUint64(at + VALUE.nbytes, true));
    switch (KINDS[view.getInt32(at + VALUE.kind, true)]) {
      case "int": return view.getBigInt64(at + VALUE.integer, true);
      case "float": return view.getFloat64(at + VALUE.number, true);
      case "bool": return view.getBigInt64(at + VALUE.integer, true) !== 0n;
      case "string": return new TextDecoder().decode(new Uint8Array(view.buffer, data, nbytes).slice());
      case "tensor": {
        const [dtype, Elements] = DTYPES.get(view.getInt32(at + VALUE.dtype, true));
        return {dtype, data: new Elements(view.buffer.slice(data, data + nbytes)), ...this.shape(at, VALUE)};
      }
    }
    return null;
  }
}

// Input is the place of an input in the module's memory, used again by each call.
class Input {
  constructor(heap, info, index) {
    Object.assign(this, {heap, info, index, address: 0, capacity: 0});
  }

  free() {
    if (this.address) this.heap.free(this.address);
    this.address = this.capacity = 0;
  }

  // write writes a pte_value at the scratch address.
  write(value) {
    const {heap} = this, at = heap.scratch;
    const bytes = this.bytes(value); // may let memory grow
    const address = bytes ? this.hold(bytes) : 0;
    const view = heap.view();
    new Uint8Array(view.buffer, at, VALUE.size).fill(0);
    view.setInt32(at + VALUE.kind, KINDS.indexOf(this.info.kind), true);
    view.setBigUint64(at + VALUE.data, BigInt(address), true);
    view.setBigUint64(at + VALUE.nbytes, BigInt(bytes?.length ?? 0), true);
    switch (this.info.kind) {
      case "int": view.setBigInt64(at + VALUE.integer, BigInt(value), true); break;
      case "bool": view.setBigInt64(at + VALUE.integer, value ? 1n : 0n, true); break;
      case "float": view.setFloat64(at + VALUE.number, Number(value), true); break;
      case "tensor": this.writeShape(view, at, value); break;
    }
  }

  writeShape(view, at, value) {
    const sizes = value.sizes ?? this.info.sizes;
    if (sizes.length > MAX_RANK) throw this.refused(`${sizes.length} dimensions, want at most ${MAX_RANK}`);
    view.setInt32(at + VALUE.dtype, DTYPE_NUMBERS.get(this.info.dtype), true);
    view.setUint32(at + VALUE.rank, sizes.length, true);
    sizes.forEach((n, i) => view.setBigInt64(at + VALUE.sizes + 8 * i, BigInt(n), true));
    (value.dimOrder ?? []).forEach((d, i) => view.setUint8(at + VALUE.order + i, d));
  }

  // bytes are those of a tensor or string, else undefined.
  bytes(value) {
    if (this.info.kind === "string") return new TextEncoder().encode(value);
    if (this.info.kind !== "tensor") return undefined;
    const data = value?.data ?? value, Elements = DTYPES.get(DTYPE_NUMBERS.get(this.info.dtype))[1];
    if (!(data instanceof Elements)) throw this.refused(`${kindOf(data)}, want a ${Elements.name} for ${this.info.dtype}`);
    if (value.dtype && value.dtype !== this.info.dtype) throw this.refused(`${value.dtype}, want ${this.info.dtype}`);
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  }

  // hold copies bytes to the input's own memory and gives the address.
  hold(bytes) {
    if (bytes.length > this.capacity || !this.address) {
      this.free();
      this.address = this.heap.alloc(bytes.length);
      this.capacity = bytes.length;
    }
    new Uint8Array(this.heap.exports.memory.buffer, this.address, bytes.length).set(bytes);
    return this.address;
  }

  // readBack copies what the method wrote to the caller's array.
  readBack(value) {
    const data = value.data ?? value;
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    bytes.set(new Uint8Array(this.heap.exports.memory.buffer, this.address, bytes.length));
  }

  refused(text) {
    return new PteError(0x12, `input ${this.index} is ${text}`);
  }
}

function kindOf(x) {
  return x === null || typeof x !== "object" ? `a ${typeof x}` : `a ${x.constructor.name}`;
}

class Method {
  #heap;
  #handle;
  #inputs;

  constructor(heap, instance, info) {
    this.info = info;
    this.#heap = heap;
    this.#handle = heap.handle("pte_instance_method", instance, ...heap.string(info.name));
    this.#inputs = info.inputs.map((input, i) => new Input(heap, input, i));
  }

  run(...values) {
    const heap = this.#heap;
    if (values.length !== this.#inputs.length) {
      throw new PteError(0x12, `${this.info.name} takes ${this.#inputs.length} inputs, got ${values.length}`);
    }
    values.forEach((value, i) => {
      this.#inputs[i].write(value);
      heap.call("pte_method_set_input", this.#handle, i, heap.scratch);
    });
    heap.call("pte_method_run", this.#handle);
    values.forEach((value, i) => this.info.inputs[i].written && this.#inputs[i].readBack(value));
    return this.info.outputs.map((_, i) => {
      heap.call("pte_method_get_output", this.#handle, i, heap.scratch);
      return heap.value();
    });
  }

  free() {
    this.#inputs.forEach((input) => input.free());
  }
}

class Instance {
  #heap;
  #handle;
  #methods = new Map();
  #infos;

  constructor(heap, program, infos) {
    this.#heap = heap;
    this.#infos = infos;
    this.#handle = heap.handle("pte_instance_create", program);
  }

  method(name = "forward") {
    const info = this.#infos.find((m) => m.name === name);
    if (!info) {
      throw new PteError(0x12, `no method "${name}"; there are ${this.#infos.map((m) => `"${m.name}"`).join(", ")}`);
    }
    if (!this.#methods.has(name)) this.#methods.set(name, new Method(this.#heap, this.#handle, info));
    return this.#methods.get(name);
  }

  close() {
    this.#heap.exports.pte_instance_destroy(this.#handle);
    this.#methods.forEach((m) => m.free());
    this.#methods.clear();
  }
}

// bytesOf are the bytes of a BufferSource.
function bytesOf(file) {
  return ArrayBuffer.isView(file) ? new Uint8Array(file.buffer, file.byteOffset, file.byteLength) : new Uint8Array(file);
}

// Data is a data file. Its bytes are freed by the module's collector, once no program reads them.
class Data {
  #heap;

  constructor(heap, file) {
    this.#heap = heap;
    const bytes = bytesOf(file), place = heap.put(bytes);
    try {
      this.handle = heap.handle("pte_data_load", place, bytes.length);
    } finally {
      heap.free(place);
    }
  }

  close() {
    this.#heap.exports.pte_data_destroy(this.handle);
  }
}

class Program {
  #heap;
  #handle;
  #bytes; // address of the file, 0 if it is in the module
  #instances = 0;
  #closed = false;

  constructor(heap, handle, bytes) {
    this.#heap = heap;
    this.#handle = handle;
    this.#bytes = bytes;
    this.methods = this.#describe();
  }

  #describe() {
    const heap = this.#heap, program = this.#handle;
    const count = heap.handle("pte_program_method_count", program);
    return Array.from({length: count}, (_, i) => {
      const name = heap.name("pte_program_method_name", program, i), place = heap.string(name);
      heap.call("pte_program_method_info", program, ...place, heap.scratch);
      const view = heap.view();
      const inputs = view.getUint32(heap.scratch, true), outputs = view.getUint32(heap.scratch + 4, true);
      const arenaBytes = Number(view.getBigInt64(heap.scratch + 8, true));
      const infos = (what, n) => Array.from({length: n}, (_, j) => {
        heap.call(`pte_program_${what}_info`, program, ...place, j, heap.scratch);
        return heap.info();
      });
      return {name, inputs: infos("input", inputs), outputs: infos("output", outputs), arenaBytes};
    });
  }

  instance() {
    const instance = new Instance(this.#heap, this.#handle, this.methods), close = instance.close;
    this.#instances++;
    instance.close = () => {
      if (instance.close === nothing) return;
      instance.close = nothing;
      close.call(instance);
      this.#instances--;
      this.#release();
    };
    return instance;
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#heap.exports.pte_program_destroy(this.#handle);
    this.#release();
  }

  // release frees the file once nothing reads it.
  #release() {
    if (this.#closed && this.#instances === 0 && this.#bytes) {
      this.#heap.free(this.#bytes);
      this.#bytes = 0;
    }
  }
}

function nothing() {}

class Runtime {
  #heap;

  constructor(heap, kernels) {
    this.#heap = heap;
    this.kernels = kernels;
    this.programs = Array.from({length: heap.exports.pte_embedded_count()}, (_, i) => heap.name("pte_embedded_name", i));
  }

  program(name = "", options) {
    const address = this.#heap.options(options);
    try {
      return new Program(this.#heap, this.#heap.handle("pte_program_load_embedded", ...this.#heap.string(name), address), 0);
    } finally {
      this.#heap.free(address);
    }
  }

  loadProgram(file, options) {
    const heap = this.#heap, address = heap.options(options);
    const bytes = bytesOf(file), place = heap.put(bytes);
    try {
      return new Program(heap, heap.handle("pte_program_load", place, bytes.length, address), place);
    } catch (error) {
      heap.free(place);
      throw error;
    } finally {
      heap.free(address);
    }
  }

  loadData(file) {
    return new Data(this.#heap, file);
  }

  get memoryBytes() {
    return this.#heap.exports.memory.buffer.byteLength;
  }
}

// beside is the URL of a file beside this one.
function beside(name) {
  return new URL(name, import.meta.url);
}

// compile makes a module of a URL, a response or bytes.
async function compile(source) {
  const x = await source;
  if (x instanceof WebAssembly.Module) return x;
  if (x instanceof ArrayBuffer || ArrayBuffer.isView(x)) return WebAssembly.compile(x);
  const response = x instanceof Response ? x : await fetch(x);
  if (!response.ok) throw new Error(`load ${response.url}: ${response.status} ${response.statusText}`);
  const type = response.headers.get("Content-Type") ?? "";
  return type.startsWith("application/wasm") ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

// system is what Go's runtime asks of WASI: a clock, random numbers, and a place for what it prints before it panics.
function system(heap) {
  const ok = 0, badFile = 8, notSupported = 52;
  const bytes = (address, n) => new Uint8Array(heap.memory().buffer, address, n);
  const view = () => new DataView(heap.memory().buffer);
  const none = (count, size) => {
    view().setUint32(count, 0, true);
    view().setUint32(size, 0, true);
    return ok;
  };
  let line = "";
  const functions = {
    args_get: () => ok,
    args_sizes_get: none,
    environ_get: () => ok,
    environ_sizes_get: none,
    clock_time_get(id, _, out) {
      const ms = id === 0 ? Date.now() : performance.now();
      view().setBigUint64(out, BigInt(Math.round(ms * 1e6)), true);
      return ok;
    },
    random_get(address, n) {
      for (let at = 0; at < n; at += 65536) crypto.getRandomValues(bytes(address + at, Math.min(65536, n - at)));
      return ok;
    },
    fd_write(fd, vectors, n, written) {
      let total = 0;
      for (let i = 0; i < n; i++) {
        const size = view().getUint32(vectors + 8 * i + 4, true);
        line += new TextDecoder().decode(bytes(view().getUint32(vectors + 8 * i, true), size).slice());
        total += size;
      }
      view().setUint32(written, total, true);
      const lines = line.split("\n");
      line = lines.pop();
      lines.forEach((text) => (fd === 1 ? console.log(text) : console.error(text)));
      return ok;
    },
    sched_yield: () => ok,
    poll_oneoff(subscriptions, events, n, count) {
      // All that wait are woken at once; a clock wakes a little early, and Go waits again.
      for (let i = 0; i < n; i++) {
        bytes(events + 32 * i, 32).fill(0);
        view().setBigUint64(events + 32 * i, view().getBigUint64(subscriptions + 48 * i, true), true);
        view().setUint8(events + 32 * i + 10, view().getUint8(subscriptions + 48 * i + 8));
      }
      view().setUint32(count, n, true);
      return ok;
    },
    proc_exit(code) {
      throw new PteError(1, `the program exited with status ${code}`);
    },
  };
  return (name) => functions[name] ?? (() => (name.startsWith("fd_") ? badFile : notSupported));
}

// vectors are the imports "pte" of a program with vector kernels, which have no exports before there is memory.
function vectors(heap) {
  return (name) => (name === "available" ? () => (heap.kernels ? 1 : 0) : (a) => heap.kernels[name](a));
}

// attach loads the module with vector kernels; without, or where WebAssembly has no vectors, there are portable ones.
async function attach(heap, source) {
  try {
    const instance = await WebAssembly.instantiate(await compile(source), {go: {mem: heap.memory()}});
    heap.kernels = instance.exports;
  } catch {
    return false;
  }
  return true;
}

export async function load(source = beside("pte.wasm"), options = {}) {
  const module = await compile(source);
  const late = {kernels: null, memory: () => instance.exports.memory};
  const modules = {wasi_snapshot_preview1: system(late), pte: vectors(late)};
  const imports = {};
  for (const {module: from, name} of WebAssembly.Module.imports(module)) {
    if (!modules[from]) throw new PteError(0x12, `the module imports ${from}.${name}: it is not of a pte_web`);
    (imports[from] ??= {})[name] = modules[from](name);
  }
  const instance = await WebAssembly.instantiate(module, imports);
  if (instance.exports.pte_abi_version === undefined) throw new PteError(0x12, "the module is not of a pte_web");
  const kernels = imports.pte !== undefined && (await attach(late, options.kernels ?? beside("kernels.wasm")));
  instance.exports._initialize();
  const version = instance.exports.pte_abi_version();
  if (version !== ABI_VERSION) throw new PteError(0x10, `the module has version ${version}, pte.js ${ABI_VERSION}`);
  return new Runtime(new Heap(instance), kernels);
}
