// Connects a Go program for js/wasm, built with the tag wasmsimd, with the vector kernels of kernels.wasm:
//
//     const go = new Go();                                   // of wasm_exec.js
//     const kernels = new PteKernels(go);                    // before the program is instantiated
//     const {instance} = await WebAssembly.instantiate(program, go.importObject);
//     await kernels.attach(instance, bytesOfKernelsWasm);    // before it runs; bytes, or a promise of them
//     go.run(instance);
//
// Without attach, or where WebAssembly has no vectors, the program computes with its portable kernels.
class PteKernels {
  #slots = new Map();
  #attached = false;

  // constructor adds the imports "pte" of the program: a function for every kernel, and "available".
  constructor(go) {
    const available = () => (this.#attached ? 1 : 0);
    go.importObject.pte = new Proxy({}, {get: (_, name) => (name === "available" ? available : this.#slot(name))});
  }

  // slot is a function that calls a kernel, once there is one.
  #slot(name) {
    const slot = {kernel: null};
    this.#slots.set(name, slot);
    return (a) => slot.kernel(a);
  }

  // attach gives the kernels the program's memory. It resolves to false if they cannot be used.
  async attach(instance, bytes) {
    try {
      const kernels = await WebAssembly.instantiate(await bytes, {go: {mem: instance.exports.mem}});
      for (const [name, slot] of this.#slots) {
        slot.kernel = kernels.instance.exports[name];
      }
    } catch {
      return false;
    }
    return (this.#attached = true);
  }
}

globalThis.PteKernels = PteKernels;
