// Checks pte.js with a module that has all kernels and add.pte: node api.mjs pte.js pte.wasm kernels.wasm folder-of-programs. It prints "ok".
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const [library, wasm, vectors, programs] = process.argv.slice(2);
const {load, PteError} = await import(pathToFileURL(library));
const runtime = await load(readFileSync(wasm), {kernels: readFileSync(vectors)});
const file = (name) => readFileSync(`${programs}/${name}/portable.pte`);
const refused = (code, text, f) => assert.throws(f, (e) => e instanceof PteError && e.code === code && e.message.includes(text));

// A program of the module.
assert.deepEqual(runtime.programs, ["add"]);
assert.equal(runtime.kernels, true);
assert.ok(runtime.memoryBytes > 0);
const add = runtime.program();
const tensor = {kind: "tensor", dtype: "float32", dynamism: "static", written: false, sizes: [2, 3], dimOrder: [0, 1]};
assert.deepEqual(add.methods, [{name: "forward", inputs: [tensor, tensor], outputs: [tensor], arenaBytes: 88}]);
const instance = add.instance(), forward = instance.method();
assert.equal(forward, instance.method("forward"));
const x = new Float32Array([1, 2, 3, 4, 5, 6]);
const [sum] = forward.run(x, {data: x, sizes: [2, 3], dtype: "float32"});
assert.deepEqual(sum, {dtype: "float32", data: new Float32Array([2, 4, 6, 8, 10, 12]), sizes: [2, 3], dimOrder: [0, 1]});
assert.deepEqual([...forward.run(x.subarray(0, 6), x)[0].data], [2, 4, 6, 8, 10, 12]);

// What is refused.
refused(0x12, "forward takes 2 inputs, got 1", () => forward.run(x));
refused(0x12, "input 0 is a Float64Array, want a Float32Array for float32", () => forward.run(new Float64Array(6), x));
refused(0x12, "input 1 is a number, want a Float32Array", () => forward.run(x, 3));
refused(0x12, "input 1 is int32, want float32", () => forward.run(x, {data: x, dtype: "int32"}));
refused(0x12, "nbytes is 20, want 24 or more", () => forward.run(x, x.subarray(1)));
refused(0x12, "17 dimensions, want at most 16", () => forward.run(x, {data: x, sizes: Array(17).fill(1)}));
refused(0x12, "dim_order is no order", () => forward.run(x, {data: x, dimOrder: [1, 1]}));
refused(0x12, 'no method "backward"; there are "forward"', () => instance.method("backward"));
refused(0x20, 'no program "sub" is in this binary', () => runtime.program("sub"));
refused(0x23, "", () => runtime.loadProgram(new Uint8Array(64)));
refused(0x12, "want no negative number", () => runtime.program("add", {maxMemory: -1}));

// Without the module of vectors, portable kernels give the same.
const portable = await load(readFileSync(wasm), {kernels: new Uint8Array([1, 2, 3])});
assert.equal(portable.kernels, false);
assert.deepEqual(portable.program().instance().method().run(x, x)[0], sum);
await assert.rejects(load(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])), /the module is not of a pte_web/);
await assert.rejects(load(new Uint8Array([1, 2, 3])), WebAssembly.CompileError);
instance.close();
instance.close();
refused(0x12, "or it was destroyed", () => forward.run(x, x));
add.close();
add.close();

// State stays in an instance, and each has its own.
const counter = runtime.loadProgram(file("counter"));
const [a, b] = [counter.instance(), counter.instance()];
const count = (i) => i.method().run(new Float32Array(3)).find((o) => o.dtype === "int64").data[0];
const first = count(a);
assert.equal(typeof first, "bigint");
assert.equal(count(a), first + 1n);
assert.equal(count(b), first);
counter.close(); // before its instances
assert.equal(count(a), first + 2n);
a.close();
b.close();

// Sizes change within their bound, and what is closed is free again.
const batch = runtime.loadProgram(file("dynamic_batch")).instance().method();
assert.equal(batch.info.inputs[0].dynamism, "bounded");
for (const n of [1, 64, 2]) assert.deepEqual(batch.run({data: new Float32Array(8 * n), sizes: [n, 8]})[0].sizes, [n, 4]);
refused(0x12, "at most [64, 8]", () => batch.run({data: new Float32Array(8 * 65), sizes: [65, 8]}));
for (let i = 0; i < 200; i++) {
  const program = runtime.loadProgram(file("add")), user = program.instance();
  assert.equal(user.method().run(x, x)[0].data[5], 12);
  user.close();
  program.close();
}
// Constants in a data file, which several programs may use and which stays as long as they do.
const external = readFileSync(`${programs}/external/program.pte`), weights = runtime.loadData(readFileSync(`${programs}/external/weights.ptd`));
const [one, two] = [runtime.loadProgram(external, {data: weights}), runtime.loadProgram(external, {data: weights, seed: 1})];
weights.close();
one.close();
const output = two.instance().method().run(new Float32Array(6))[0];
assert.deepEqual(output.sizes, [2, 2]);
for (let i = 0; i < 100; i++) runtime.loadProgram(file("add")).close(); // which lets the collector run
assert.deepEqual(two.instance().method().run(new Float32Array(6))[0], output);
refused(0x12, "or it was destroyed", () => runtime.loadProgram(external, {data: weights}));
refused(0x12, "data is a Uint8Array, want what loadData gives", () => runtime.loadProgram(external, {data: new Uint8Array(8)}));
refused(0x24, "this is no .ptd file", () => runtime.loadData(new Uint8Array(64)));
console.log("ok");
