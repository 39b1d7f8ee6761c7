/**
 * pte.js runs the ExecuTorch programs of a `pte_web` in a page, a worker or Node.
 *
 * ```js
 * import {load} from "./pte.js";
 *
 * const runtime = await load(); // pte.wasm, beside pte.js
 * const forward = runtime.program().instance().method("forward");
 * const [scores] = forward.run({data: pixels, sizes: [1, 1, 8, 8]});
 * ```
 *
 * Calls are synchronous and use one thread. A call that takes longer than a frame belongs into a worker, which imports the
 * same module.
 */

/** The element types of tensors, by PyTorch's names. */
export type DType =
  | "uint8" | "int8" | "int16" | "int32" | "int64" | "uint16" | "uint32" | "uint64"
  | "float16" | "bfloat16" | "float32" | "float64" | "bool";

/** The array of a DType: of its own type, `Uint8Array` for bool, and the bits in a `Uint16Array` for float16 and bfloat16. */
export type Elements =
  | Uint8Array | Int8Array | Int16Array | Int32Array | BigInt64Array | Uint16Array | Uint32Array | BigUint64Array
  | Float32Array | Float64Array;

/** A tensor that goes into a call. */
export interface TensorInput {
  /** The dense elements, copied by the call; of an input that the method writes, they are written back. */
  data: Elements;
  /** Outermost first; those of the program if absent. */
  sizes?: readonly number[];
  /** The dimensions from the outermost in memory to the innermost; row-major if absent. */
  dimOrder?: readonly number[];
  /** Checked against the program's, if given. */
  dtype?: DType;
}

/** A tensor that comes out of a call. Its elements are a copy, which is the caller's. */
export interface Tensor {
  dtype: DType;
  data: Elements;
  sizes: number[];
  dimOrder: number[];
}

/** An input: a tensor (or just its elements), a number, a truth value, a text, or null where the program has None. */
export type Input = TensorInput | Elements | number | bigint | boolean | string | null;

/** An output. An int is a bigint, a float a number. */
export type Output = Tensor | bigint | number | boolean | string | null;

/** What is known of an input or output before a call. */
export type ValueInfo =
  | {kind: "none" | "int" | "float" | "bool" | "string"}
  | {
      kind: "tensor";
      dtype: DType;
      /** Whether sizes are fixed, the largest ones, or those of the example. */
      dynamism: "static" | "bounded" | "unbounded";
      sizes: number[];
      dimOrder: number[];
      /** Whether the method writes to this input. */
      written: boolean;
    };

export interface MethodInfo {
  name: string;
  inputs: ValueInfo[];
  outputs: ValueInfo[];
  /** Planned memory of an instance for this method. */
  arenaBytes: number;
}

/** What a program may use; 0 is the default. */
export interface ProgramOptions {
  /** Bytes of an instance and of packed weights; 4 GiB if 0. */
  maxMemory?: number;
  /** Of one call; 10 million if 0. */
  maxInstructions?: number;
  /** Of random numbers. */
  seed?: number | bigint;
  /** The file with the constants that are not in the program. */
  data?: Data;
}

/** A data file, for any number of programs. */
export interface Data {
  /** Frees the file once the programs that were loaded with it are closed. */
  close(): void;
}

/** An error of the runtime. `code` is one of `pte_status` in pte.h. */
export class PteError extends Error {
  constructor(code: number, message: string);
  readonly code: number;
}

/** A method of an instance. */
export interface Method {
  readonly info: MethodInfo;
  /** Runs the method. Throws a PteError for inputs that it does not take; then state may be half written. */
  run(...inputs: Input[]): Output[];
}

/** The memory and the state of one user of a program. */
export interface Instance {
  /** A method by name, "forward" if absent. Throws a PteError if there is none. */
  method(name?: string): Method;
  /** Frees the instance; its methods must not be used after it. */
  close(): void;
}

/** A loaded program. */
export interface Program {
  readonly methods: readonly MethodInfo[];
  /** Makes an instance, with its state as the file has it. */
  instance(): Instance;
  /** Frees the program once its instances are closed. */
  close(): void;
}

/** A module of a `pte_web`. */
export interface Runtime {
  /** The names of the programs in the module. */
  readonly programs: readonly string[];
  /** Whether vector kernels are in use. */
  readonly kernels: boolean;
  /** Bytes of the module's memory, which only grows. */
  readonly memoryBytes: number;
  /** Loads a program of the module, the first if name is absent. */
  program(name?: string, options?: ProgramOptions): Program;
  /** Loads the bytes of a .pte whose kernels the module has. They are copied, and checked, not trusted. */
  loadProgram(file: BufferSource, options?: ProgramOptions): Program;
  /** Loads the bytes of a .ptd, for the option `data`. They are copied, and checked, not trusted. */
  loadData(file: BufferSource): Data;
}

/** Where a module comes from. */
export type Source = string | URL | Request | Response | BufferSource | WebAssembly.Module;

export interface LoadOptions {
  /**
   * The module with vector kernels, for a program that can use one; `kernels.wasm` beside pte.js if absent. Where it cannot
   * be loaded, portable kernels run.
   */
  kernels?: Source | Promise<Source>;
}

/** Loads a module; `pte.wasm` beside pte.js if source is absent. */
export function load(source?: Source | Promise<Source>, options?: LoadOptions): Promise<Runtime>;
