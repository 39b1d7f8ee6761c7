import {load} from "./pte.js";
import {Sheet} from "./sheet.js";
import {SAMPLES} from "./samples.js";

const $ = (id) => document.getElementById(id);

// softmax makes probabilities of scores.
function softmax(scores) {
  const top = Math.max(...scores), powers = Array.from(scores, (s) => Math.exp(s - top));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((p) => p / sum);
}

const percent = (p) => `${Math.round(100 * p)} %`;

// Result shows probabilities: a big digit, ten bars, and a sentence for screen readers when the drawing rests.
class Result {
  #bars;
  #timer = 0;

  constructor() {
    this.#bars = Array.from({length: 10}, (_, digit) => {
      const item = document.createElement("li");
      item.innerHTML = `<span>${digit}</span><span class="bar" aria-hidden="true"><i></i></span><span class="share">0 %</span>`;
      $("bars").append(item);
      return {item, bar: item.querySelector("i"), share: item.querySelector(".share")};
    });
  }

  show(probabilities) {
    const best = probabilities ? probabilities.indexOf(Math.max(...probabilities)) : -1;
    this.#bars.forEach(({item, bar, share}, digit) => {
      const p = probabilities?.[digit] ?? 0;
      item.classList.toggle("best", digit === best);
      bar.style.transform = `scaleX(${p})`;
      share.textContent = percent(p);
    });
    $("guess").textContent = best < 0 ? "–" : best;
    $("sure").textContent = best < 0 ? "" : `${percent(probabilities[best])} sure`;
    this.#say(best < 0 ? "Nothing drawn." : `Looks like ${best}, ${percent(probabilities[best])} sure.`);
  }

  #say(text) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => ($("spoken").textContent = text), 500);
  }
}

// Clock keeps the times of the last calls.
class Clock {
  #times = [];
  calls = 0;

  add(ms) {
    this.calls++;
    this.#times.push(ms);
    if (this.#times.length > 30) this.#times.shift();
  }

  get median() {
    return [...this.#times].sort((a, b) => a - b)[this.#times.length >> 1];
  }
}

// draw8 shows the pixels that the network sees.
function draw8(pixels) {
  const context = $("seen").getContext("2d"), [r, g, b] = inkOf($("seen"));
  const image = context.createImageData(8, 8);
  pixels.forEach((p, i) => image.data.set([r, g, b, Math.round(255 * p)], 4 * i));
  context.putImageData(image, 0, 0);
}

// inkOf is the text colour of an element, as numbers.
function inkOf(element) {
  return getComputedStyle(element).color.match(/\d+/g).slice(0, 3).map(Number);
}

function format(ms) {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

async function start() {
  const result = new Result(), clock = new Clock();
  const runtime = await load();
  const forward = runtime.program().instance().method("forward");
  const run = (pixels) => softmax(forward.run({data: pixels, sizes: [1, 1, 8, 8]})[0].data);
  run(new Float32Array(64)); // packs the weights

  const sheet = new Sheet($("pad"), (pixels) => {
    const empty = pixels === null;
    $("hint").classList.toggle("gone", !empty);
    $("clear").disabled = empty;
    draw8(pixels ?? new Float32Array(64));
    if (empty) return result.show(null);
    const begin = performance.now(), probabilities = run(pixels);
    clock.add(performance.now() - begin);
    result.show(probabilities);
    $("latency").textContent = format(clock.median);
    $("calls").textContent = clock.calls;
  });

  $("clear").addEventListener("click", () => sheet.clear());
  $("pad").addEventListener("keydown", (event) => {
    const strokes = SAMPLES[event.key];
    if (strokes && !event.ctrlKey && !event.metaKey && !event.altKey) sheet.replace(strokes);
  });
  $("size").textContent = `${(downloaded() / 1e6).toFixed(1)} MB`;
  $("kernels").textContent = runtime.kernels ? "vector" : "portable";
  document.documentElement.dataset.ready = "true";
}

// downloaded is the size of the module and the program, as the server sent them.
function downloaded() {
  const entries = performance.getEntriesByType("resource").filter((e) => e.name.endsWith(".wasm"));
  return entries.reduce((sum, e) => sum + (e.encodedBodySize || e.transferSize), 0);
}

start().catch((error) => ($("error").textContent = `The network cannot run here: ${error.message}`));
