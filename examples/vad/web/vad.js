import {Detector, FRAME, RATE, segmentsOf} from "./detector.js";
import {Wave} from "./wave.js";

const $ = (id) => document.getElementById(id);
const PLAY = "M8 5l11 7-11 7z", PAUSE = "M7 5h4v14H7zM13 5h4v14h-4z";

// clock is a time in seconds as text, such as 1:02.3.
function clock(s) {
  return `${Math.floor(s / 60)}:${(s % 60).toFixed(1).padStart(4, "0")}`;
}

// decode gives the samples of a file, its channels averaged, at RATE.
async function decode(bytes) {
  const context = new OfflineAudioContext(1, 1, RATE), sound = await context.decodeAudioData(bytes);
  const samples = new Float32Array(sound.length);
  for (let c = 0; c < sound.numberOfChannels; c++) {
    sound.getChannelData(c).forEach((x, i) => (samples[i] += x / sound.numberOfChannels));
  }
  return samples;
}

// Player plays a recording and shows where it is.
class Player {
  #audio = new Audio();
  #stopAt = Infinity;
  #seconds = 0;

  constructor() {
    const audio = this.#audio, icon = (d, label) => {
      $("play-icon").setAttribute("d", d);
      $("play").setAttribute("aria-label", label);
    };
    audio.addEventListener("play", () => (icon(PAUSE, "Pause"), this.#follow()));
    audio.addEventListener("pause", () => icon(PLAY, "Play"));
    $("play").addEventListener("click", () => (audio.paused ? this.play(audio.currentTime) : audio.pause()));
    $("wave").addEventListener("pointerdown", (e) => this.#point(e));
    $("wave").addEventListener("pointermove", (e) => e.buttons && this.#point(e));
    $("wave").addEventListener("keydown", (e) => this.#key(e));
  }

  open(file, seconds) {
    URL.revokeObjectURL(this.#audio.src);
    this.#audio.src = URL.createObjectURL(file);
    this.#seconds = seconds;
    $("wave").setAttribute("aria-valuemax", seconds.toFixed(1));
    this.seek(0);
  }

  // play plays from one time to another, in seconds.
  play(from, to = Infinity) {
    this.seek(from >= this.#seconds ? 0 : from);
    this.#stopAt = to;
    this.#audio.play();
  }

  seek(at) {
    this.#stopAt = Infinity;
    this.#audio.currentTime = Math.min(Math.max(at, 0), this.#seconds);
    this.#show();
  }

  #point(event) {
    const box = $("wave").getBoundingClientRect();
    this.seek(((event.clientX - box.left) / box.width) * this.#seconds);
  }

  #key(event) {
    const at = this.#audio.currentTime;
    const to = {ArrowLeft: at - 1, ArrowRight: at + 1, PageDown: at - 10, PageUp: at + 10, Home: 0, End: this.#seconds}[event.key];
    if (to !== undefined) this.seek(to);
    else if (event.key === " ") $("play").click();
    else return;
    event.preventDefault();
  }

  #follow() {
    this.#show();
    if (this.#audio.currentTime >= this.#stopAt) this.#audio.pause();
    if (!this.#audio.paused) requestAnimationFrame(() => this.#follow());
  }

  #show() {
    const at = this.#audio.currentTime;
    $("head").style.left = `${(100 * at) / this.#seconds}%`;
    $("time").textContent = clock(at);
    $("wave").setAttribute("aria-valuenow", at.toFixed(1));
    $("wave").setAttribute("aria-valuetext", `${at.toFixed(1)} of ${this.#seconds.toFixed(1)} seconds`);
  }
}

// showAxis writes times below the waveform, at round numbers of seconds.
function showAxis(seconds) {
  const room = $("axis").clientWidth / 70, step = [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600].find((s) => seconds / s <= room) ?? 1200;
  const times = [];
  for (let t = 0; t < seconds - 0.8 * step; t += step) times.push(t);
  $("axis").replaceChildren(...[...times, seconds].map((t) => {
    const mark = document.createElement("span");
    mark.style.left = `${(100 * t) / seconds}%`;
    mark.textContent = clock(t).replace(/\.0$/, "");
    return mark;
  }));
}

// showSegments lists segments as buttons that play them.
function showSegments(segments, player) {
  $("segments").replaceChildren(...segments.map(({start, end}, i) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    const [from, to] = [start / RATE, end / RATE];
    button.setAttribute("aria-label", `Play segment ${i + 1}, from ${from.toFixed(2)} to ${to.toFixed(2)} seconds`);
    button.innerHTML = `<span>${from.toFixed(2)} – ${to.toFixed(2)} s</span><span>${(to - from).toFixed(1)} s</span>`;
    button.addEventListener("click", () => player.play(from, to));
    item.append(button);
    return item;
  }));
  if (segments.length === 0) $("segments").innerHTML = `<li class="none">No speech was found.</li>`;
}

// showFacts writes the numbers below, and a sentence.
function showFacts(segments, samples, {probabilities, busy}) {
  const seconds = samples.length / RATE, speech = segments.reduce((sum, s) => sum + s.end - s.start, 0) / RATE;
  const speed = (1000 * seconds) / busy;
  $("share").textContent = `${speech.toFixed(1)} s`;
  $("count").textContent = segments.length;
  $("latency").textContent = `${(busy / probabilities.length).toFixed(1)} ms`;
  $("speed").textContent = `${speed < 10 ? speed.toFixed(1) : Math.round(speed)} ×`;
  $("facts").hidden = false;
  $("summary").textContent =
    `${speech.toFixed(1)} s of ${seconds.toFixed(1)} s is speech, in ${segments.length} segment${segments.length === 1 ? "" : "s"}.`;
}

class Page {
  #detector = Detector.load();
  #player = new Player();
  #wave = new Wave($("canvas"));
  #running = new AbortController();

  // open shows a recording and listens to it; a recording before it is given up.
  async open(file) {
    this.#running.abort();
    const running = (this.#running = new AbortController());
    $("error").textContent = "";
    delete document.documentElement.dataset.done;
    try {
      const samples = await decode(await file.arrayBuffer());
      if (running.signal.aborted) return;
      this.#begin(file, samples);
      await this.#listen(samples, running.signal);
    } catch (error) {
      $("error").textContent = `${file.name ?? "The recording"} cannot be read: ${error.message}`;
    }
  }

  #begin(file, samples) {
    $("drop").classList.add("small");
    $("sound").hidden = false;
    $("facts").hidden = true;
    $("name").textContent = file.name;
    $("summary").textContent = "Listening…";
    $("segments").replaceChildren();
    $("progress").classList.remove("done");
    this.#player.open(file, samples.length / RATE);
    showAxis(samples.length / RATE);
    this.#wave.show({samples, probabilities: [], segments: [], frames: Math.ceil(samples.length / FRAME)});
  }

  async #listen(samples, signal) {
    const frames = Math.ceil(samples.length / FRAME), detector = await this.#detector;
    const progress = (probabilities) => {
      $("progress").value = probabilities.length / frames;
      this.#wave.show({probabilities, segments: segmentsOf(probabilities, probabilities.length * FRAME)});
    };
    const heard = await detector.listen(samples, progress, signal);
    if (!heard) return;
    const segments = segmentsOf(heard.probabilities, samples.length);
    this.#wave.show({probabilities: heard.probabilities, segments});
    $("progress").classList.add("done");
    showSegments(segments, this.#player);
    showFacts(segments, samples, heard);
    $("kernels").textContent = detector.kernels;
    document.documentElement.dataset.done = "true";
  }
}

const page = new Page();

$("file").addEventListener("change", () => $("file").files[0] && page.open($("file").files[0]));
$("sample").addEventListener("click", async () => {
  const response = await fetch("speech.wav");
  page.open(new File([await response.blob()], "speech.wav", {type: "audio/wav"}));
});
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", name === "dragover");
    const file = name === "drop" && event.dataTransfer.files[0];
    if (file) page.open(file);
  });
}
document.documentElement.dataset.ready = "true";
