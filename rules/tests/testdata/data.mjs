// Runs a program whose weights are in a data file, with a folder of pte_web: node data.mjs folder. It prints the sizes of the output.
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

const [folder] = process.argv.slice(2);
const {load} = await import(pathToFileURL(`${folder}/pte.mjs`));
const runtime = await load(readFileSync(`${folder}/pte.wasm`), {kernels: readFileSync(`${folder}/kernels.wasm`)});
const data = runtime.loadData(readFileSync(`${folder}/data.ptd`));
const forward = runtime.loadProgram(readFileSync(`${folder}/one.pte`), {data}).instance().method();
const inputs = forward.info.inputs.map(({sizes}) => new Float32Array(sizes.reduce((n, s) => n * s, 1)));
console.log(forward.run(...inputs)[0].sizes.join(" "));
