// Runs digits with a folder of pte_web: node run.mjs folder images.npy. It prints the class of the first five images
// and which kernels ran.
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const [folder, images] = process.argv.slice(2);
const {load} = await import(pathToFileURL(`${folder}/pte.mjs`));
const runtime = await load(readFileSync(`${folder}/pte.wasm`), {kernels: readFileSync(`${folder}/kernels.wasm`)});
const forward = runtime.loadProgram(readFileSync(`${folder}/digits.pte`)).instance().method();
const file = readFileSync(images), start = 10 + file.readUInt16LE(8);
const pixels = new Float32Array(file.buffer.slice(file.byteOffset + start, file.byteOffset + file.length)).subarray(0, 5 * 64);
const {data} = forward.run({data: pixels, sizes: [5, 1, 8, 8]})[0];
const classes = Array.from({length: 5}, (_, i) => data.slice(10 * i, 10 * i + 10)).map((s) => s.indexOf(Math.max(...s)));
console.log(`${classes.join(" ")} with ${runtime.kernels ? "vector" : "portable"} kernels`);
