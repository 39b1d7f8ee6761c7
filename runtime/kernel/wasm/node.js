// Runs a program for js/wasm, built with the tag wasmsimd, under node with the kernels:
//
//     GOOS=js GOARCH=wasm go test -tags wasmsimd -exec "node $PWD/runtime/kernel/wasm/node.js" ./runtime/kernel
"use strict";

const child = require("child_process");
const fs = require("fs");
const path = require("path");

globalThis.require = require;
globalThis.fs = fs;
globalThis.path = path;
const root = process.env.GOROOT || child.execFileSync("go", ["env", "GOROOT"], {encoding: "utf8"}).trim();
require(path.join(root, "lib", "wasm", "wasm_exec.js"));
require("./kernels.js");

async function main(file, args) {
  const go = new Go();
  go.argv = [file, ...args];
  go.env = {TMPDIR: require("os").tmpdir()}; // Go takes only so many bytes
  for (const name of Object.keys(process.env).filter((name) => /^(PTE_|HOME$|PATH$)/.test(name))) {
    go.env[name] = process.env[name];
  }
  go.exit = process.exit;
  const kernels = new PteKernels(go);
  const {instance} = await WebAssembly.instantiate(fs.readFileSync(file), go.importObject);
  if (!(await kernels.attach(instance, fs.readFileSync(path.join(__dirname, "kernels.wasm"))))) {
    throw new Error("attach kernels: node has no vectors of WebAssembly");
  }
  process.on("exit", (code) => {
    if (code === 0 && !go.exited) {
      go._pendingEvent = {id: 0};
      go._resume();
    }
  });
  await go.run(instance);
}

main(process.argv[2], process.argv.slice(3)).catch((err) => {
  console.error(err);
  process.exit(1);
});
