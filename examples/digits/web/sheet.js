// Sheet is where a digit is drawn, by pointer or by keys. Strokes are lists of [x, y] from 0 to 1. It calls changed with the
// 8 × 8 pixels, 0 to 1, that the network takes, or with null when it is empty.
export class Sheet {
  #canvas;
  #changed;
  #strokes = [];
  #pen = null; // the stroke under way
  #cursor = {x: 0.5, y: 0.5, shown: false};
  #due = false;

  constructor(canvas, changed) {
    this.#canvas = canvas;
    this.#changed = changed;
    canvas.addEventListener("pointerdown", (e) => this.#down(e));
    canvas.addEventListener("pointermove", (e) => this.#move(e));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => (this.#pen = null));
    canvas.addEventListener("keydown", (e) => this.#key(e));
    canvas.addEventListener("blur", () => this.#showCursor(false));
    new ResizeObserver(() => this.#later()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#later());
  }

  clear() {
    this.replace([]);
  }

  replace(strokes) {
    this.#strokes = strokes.map((stroke) => stroke.map(([x, y]) => [x, y]));
    this.#pen = null;
    this.#later();
  }

  #down(event) {
    if (event.button !== 0) return;
    this.#canvas.setPointerCapture(event.pointerId);
    this.#showCursor(false);
    this.#pen = [this.#place(event)];
    this.#strokes.push(this.#pen);
    this.#later();
  }

  #move(event) {
    if (!this.#pen || !event.buttons) return;
    const events = event.getCoalescedEvents?.() ?? [];
    for (const e of events.length ? events : [event]) this.#pen.push(this.#place(e));
    this.#later();
  }

  #place(event) {
    const box = this.#canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  #key(event) {
    const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    if (step) this.#step(step);
    else if (event.key === " ") this.#toggle();
    else if (event.key === "Escape") this.clear();
    else return;
    event.preventDefault();
  }

  #step([dx, dy]) {
    const clamp = (v) => Math.min(0.95, Math.max(0.05, v)), cursor = this.#cursor;
    cursor.x = clamp(cursor.x + 0.04 * dx);
    cursor.y = clamp(cursor.y + 0.04 * dy);
    this.#pen?.push([cursor.x, cursor.y]);
    this.#showCursor(true);
  }

  #toggle() {
    if (this.#pen) {
      this.#pen = null;
    } else {
      this.#pen = [[this.#cursor.x, this.#cursor.y]];
      this.#strokes.push(this.#pen);
    }
    this.#showCursor(true);
  }

  #showCursor(shown) {
    this.#cursor.shown = shown;
    this.#later();
  }

  // later draws and calls changed once a frame.
  #later() {
    if (this.#due) return;
    this.#due = true;
    requestAnimationFrame(() => {
      this.#due = false;
      this.#draw();
      this.#changed(this.#strokes.length ? pixelsOf(this.#strokes) : null);
    });
  }

  #draw() {
    const canvas = this.#canvas, size = Math.round(canvas.clientWidth * devicePixelRatio), style = getComputedStyle(canvas);
    if (canvas.width !== size) canvas.width = canvas.height = size;
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, size, size);
    context.strokeStyle = style.getPropertyValue("color");
    trace(context, this.#strokes, (p) => [p[0] * size, p[1] * size], size * 0.07);
    if (this.#cursor.shown) this.#drawCursor(context, size);
  }

  #drawCursor(context, size) {
    context.beginPath();
    context.arc(this.#cursor.x * size, this.#cursor.y * size, size * 0.045, 0, 7);
    context.lineWidth = size * 0.008;
    if (this.#pen) context.stroke();
    context.setLineDash(this.#pen ? [] : [size * 0.02, size * 0.02]);
    context.stroke();
    context.setLineDash([]);
  }
}

// trace draws strokes as round lines.
function trace(context, strokes, place, width) {
  context.lineCap = context.lineJoin = "round";
  context.lineWidth = width;
  for (const stroke of strokes) {
    context.beginPath();
    context.moveTo(...place(stroke[0]));
    for (const p of stroke.length > 1 ? stroke.slice(1) : stroke) context.lineTo(...place(p));
    context.stroke();
  }
}

// The images that the network has learned from: 32 × 32 bits, filled by the digit, of which each pixel counts 4 × 4.
const BITS = 32, PEN = 4.6;
const small = document.createElement("canvas");
small.width = small.height = BITS;

// pixelsOf scales strokes to the size of those images and draws them with a pen as wide as theirs.
function pixelsOf(strokes) {
  const points = strokes.flat(), xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const room = BITS - PEN, scale = room / Math.max(right - left, bottom - top, 0.15);
  const place = ([x, y]) => [BITS / 2 + (x - (left + right) / 2) * scale, BITS / 2 + (y - (top + bottom) / 2) * scale];
  const context = small.getContext("2d", {willReadFrequently: true});
  context.clearRect(0, 0, BITS, BITS);
  trace(context, strokes, place, PEN);
  return count(context.getImageData(0, 0, BITS, BITS).data);
}

// count averages the opacity of each 4 × 4 bits.
function count(rgba) {
  const pixels = new Float32Array(64);
  for (let y = 0; y < BITS; y++) {
    for (let x = 0; x < BITS; x++) pixels[8 * (y >> 2) + (x >> 2)] += rgba[4 * (BITS * y + x) + 3] / 255 / 16;
  }
  return pixels;
}
