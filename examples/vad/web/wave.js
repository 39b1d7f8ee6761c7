// Wave draws a signal, the segments in it and the probability of speech over it.
export class Wave {
  #canvas;
  #shown = {samples: new Float32Array(0), probabilities: [], segments: [], frames: 1};

  constructor(canvas) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.#draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  // show draws samples, probabilities of the first of so many frames, and segments.
  show(shown) {
    Object.assign(this.#shown, shown);
    this.#draw();
  }

  #draw() {
    const canvas = this.#canvas, width = Math.round(canvas.clientWidth * devicePixelRatio);
    const height = Math.round(canvas.clientHeight * devicePixelRatio);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    if (this.#shown.samples.length === 0) return;
    const colour = (name) => colourOf(canvas, name);
    this.#bands(context, width, height, colour);
    this.#signal(context, width, height, colour);
    this.#curve(context, width, height, colour);
  }

  #bands(context, width, height, colour) {
    const total = this.#shown.samples.length;
    for (const {start, end} of this.#shown.segments) {
      const left = (start / total) * width, right = (end / total) * width;
      context.fillStyle = colour("--accent-soft");
      context.fillRect(left, 0, right - left, height);
      context.fillStyle = colour("--accent");
      context.fillRect(left, 0, right - left, 3 * devicePixelRatio);
    }
  }

  // signal draws a bar for every few pixels, as high as the loudest sample there.
  #signal(context, width, height, colour) {
    const {samples, segments} = this.#shown, bar = 2 * devicePixelRatio, gap = devicePixelRatio;
    const bars = Math.max(1, Math.floor(width / (bar + gap))), peaks = peaksOf(samples, bars);
    const loudest = Math.max(0.05, ...peaks), muted = colour("--muted"), accent = colour("--accent");
    peaks.forEach((peak, i) => {
      const at = ((i + 0.5) / bars) * samples.length;
      context.fillStyle = segments.some((s) => at >= s.start && at < s.end) ? accent : muted;
      const high = Math.max(devicePixelRatio, (peak / loudest) * height * 0.78);
      context.fillRect(i * (bar + gap), (height - high) / 2, bar, high);
    });
  }

  #curve(context, width, height, colour) {
    const {probabilities, frames} = this.#shown, inset = 6 * devicePixelRatio;
    context.beginPath();
    probabilities.forEach((p, i) => context.lineTo(((i + 0.5) / frames) * width, height - inset - p * (height - 2 * inset)));
    context.strokeStyle = colour("--text");
    context.globalAlpha = 0.55;
    context.lineWidth = 1.25 * devicePixelRatio;
    context.lineJoin = "round";
    context.stroke();
    context.globalAlpha = 1;
  }
}

// colourOf is a colour of the page as a canvas takes it: for the scheme that is on.
function colourOf(canvas, name) {
  canvas.style.color = `var(${name})`;
  return getComputedStyle(canvas).color;
}

// peaksOf is the loudest sample of each part.
function peaksOf(samples, parts) {
  return Array.from({length: parts}, (_, i) => {
    let peak = 0;
    const end = Math.floor(((i + 1) / parts) * samples.length);
    for (let at = Math.floor((i / parts) * samples.length); at < end; at++) peak = Math.max(peak, Math.abs(samples[at]));
    return peak;
  });
}
