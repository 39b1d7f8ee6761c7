import {load} from "./pte.js";

export const RATE = 16000; // samples a second
export const FRAME = 512; // samples that a call takes
const CONTEXT = 64; // samples before them that it sees again

// The publisher's settings, as segments.go has them.
const ONSET = 0.5, OFFSET = 0.35;
const MIN_SILENCE = RATE / 10, MIN_SPEECH = RATE / 4, PADDING = (RATE * 3) / 100; // samples

// Detector runs the model over a signal.
export class Detector {
  #program;
  kernels = "portable";

  static async load() {
    const detector = new Detector();
    const runtime = await load();
    detector.#program = runtime.program();
    if (runtime.kernels) detector.kernels = "vector";
    return detector;
  }

  // listen gives the probability of speech of each frame. It calls progress with those that there are, now and then, and
  // lets the page live meanwhile; the signal ends it. busy is the time of all calls in milliseconds.
  async listen(samples, progress, signal) {
    const instance = this.#program.instance(), forward = instance.method("forward");
    const frame = new Float32Array(CONTEXT + FRAME), sizes = [1, CONTEXT + FRAME];
    let state = {data: new Float32Array(256), sizes: [2, 1, 128]}, rest = performance.now(), busy = 0;
    const probabilities = [];
    try {
      for (let at = 0; at < samples.length; at += FRAME) {
        frame.copyWithin(0, FRAME);
        frame.fill(0, CONTEXT);
        frame.set(samples.subarray(at, at + FRAME), CONTEXT);
        const begin = performance.now();
        const [probability, next] = forward.run({data: frame, sizes}, state);
        busy += performance.now() - begin;
        state = next;
        probabilities.push(probability.data[0]);
        if (performance.now() - rest > 24) {
          progress(probabilities);
          await new Promise((resolve) => setTimeout(resolve));
          if (signal.aborted) return null;
          rest = performance.now();
        }
      }
    } finally {
      instance.close();
    }
    return {probabilities, busy};
  }
}

// segmentsOf joins frames with speech in them to ranges of samples; total is the length of the signal.
export function segmentsOf(probabilities, total) {
  const out = [];
  let start = -1, silence = -1;
  const end = (at) => {
    if (at - start >= MIN_SPEECH) out.push({start: Math.max(start - PADDING, 0), end: Math.min(at + PADDING, total)});
    start = silence = -1;
  };
  probabilities.forEach((p, i) => {
    const at = i * FRAME;
    if (p >= ONSET) {
      if (start < 0) start = at;
      else silence = -1;
    } else if (p < OFFSET && start >= 0 && silence < 0) {
      silence = at;
    }
    if (silence >= 0 && at - silence >= MIN_SILENCE) end(silence);
  });
  if (start >= 0) end(total);
  return out;
}
