package web

import (
	"path/filepath"
	"testing"

	"github.com/rules-pte/rules_pte/tools/browser"
)

// speech are the segments of speech.wav, as //examples/vad finds them.
const speech = "0.99 – 1.79 s; 2.18 – 6.08 s; 8.29 – 11.77 s; 13.57 – 14.91 s; 15.17 – 15.90 s"

// TestVad drops a recording and reads the segments.
func TestVad(t *testing.T) {
	b, url := chromium(t), serve(t, "vad")
	file, err := filepath.Abs("../vad/speech.wav")
	if err != nil {
		t.Fatal(err)
	}
	for name, screen := range map[string]browser.Screen{"vad": desk, "vad-dark": night, "vad-phone": phone} {
		t.Run(name, func(t *testing.T) {
			p := open(t, b, url, screen)
			p.picture(name + "-empty")
			left, top, width, height := p.box("drop")
			p.check(p.Drop(file, browser.Point{X: left + width/2, Y: top + height/2}))
			p.wait("document.documentElement.dataset.done === 'true'")
			got, err := p.Eval("[...document.querySelectorAll('#segments button span:first-child')].map((e) => e.textContent).join('; ')")
			p.check(err)
			if got != speech {
				t.Errorf("segments %s, want %s", got, speech)
			}
			p.marked()
			p.vectors()
			p.check(p.Do("Runtime.evaluate", map[string]any{"expression": "scrollTo(0, 0)"}))
			p.picture(name)
			p.fits()
		})
	}
	t.Run("keys", func(t *testing.T) {
		p := open(t, b, url, desk)
		_, err := p.Eval("document.getElementById('sample').focus()")
		p.check(err)
		p.check(p.Key("Enter"))
		p.wait("document.documentElement.dataset.done === 'true'")
		_, err = p.Eval("document.getElementById('wave').focus()")
		p.check(err)
		p.check(p.Key("End"))
		p.check(p.Key("ArrowLeft"))
		p.wait("document.getElementById('wave').getAttribute('aria-valuenow') === (Number(document.getElementById('wave').getAttribute('aria-valuemax')) - 1).toFixed(1)")
	})
}

// marked checks that the waveform has the accent's colour, red before all, above the first segment, and none at its begin.
func (p page) marked() {
	p.t.Helper()
	got, err := p.Eval(`(() => { const c = document.getElementById('canvas'), x = Math.round((1.4 / 17.4) * c.width);
		const at = (x) => [...c.getContext('2d').getImageData(x, 0, 1, 1).data];
		const [r, g, b, a] = at(x); return r > g && g > b && a === 255 && at(2)[3] === 0; })()`)
	p.check(err)
	if got != "true" {
		p.t.Error("the waveform does not mark the first segment")
	}
}
