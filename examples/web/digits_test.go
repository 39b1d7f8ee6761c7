package web

import (
	"strings"
	"testing"

	"github.com/rules-pte/rules_pte/tools/browser"
)

// drawn are strokes of digits, from 0 to 1, by hand.
var drawn = map[string][][]browser.Point{
	"7": {{{X: 0.28, Y: 0.2}, {X: 0.5, Y: 0.19}, {X: 0.72, Y: 0.2}, {X: 0.6, Y: 0.45}, {X: 0.45, Y: 0.85}}},
	"4": {{{X: 0.45, Y: 0.15}, {X: 0.36, Y: 0.38}, {X: 0.28, Y: 0.58}, {X: 0.5, Y: 0.58}, {X: 0.74, Y: 0.57}}, {{X: 0.6, Y: 0.36}, {X: 0.58, Y: 0.6}, {X: 0.56, Y: 0.88}}},
	"0": {{{X: 0.5, Y: 0.15}, {X: 0.34, Y: 0.25}, {X: 0.28, Y: 0.5}, {X: 0.35, Y: 0.77}, {X: 0.5, Y: 0.86}, {X: 0.66, Y: 0.76}, {X: 0.72, Y: 0.5}, {X: 0.66, Y: 0.25}, {X: 0.5, Y: 0.15}}},
}

// draw draws a digit with the mouse or a finger.
func (p page) draw(digit string, move func([]browser.Point) error) {
	p.t.Helper()
	for _, stroke := range drawn[digit] {
		left, top, width, height := p.box("pad")
		points := []browser.Point{}
		for i, to := range stroke {
			from := stroke[max(i-1, 0)]
			for k := 1; k <= 4; k++ { // as a hand does, with places between
				f := float64(k) / 4
				points = append(points, browser.Point{X: left + width*(from.X+f*(to.X-from.X)), Y: top + height*(from.Y+f*(to.Y-from.Y))})
			}
		}
		p.check(move(points))
	}
	p.wait("document.getElementById('guess').textContent === '" + digit + "'")
}

// TestDigits draws digits and reads what the page makes of them.
func TestDigits(t *testing.T) {
	b, url := chromium(t), serve(t, "digits")
	t.Run("mouse", func(t *testing.T) {
		p := open(t, b, url, desk)
		p.picture("digits-empty")
		p.draw("7", p.Drag)
		p.wait("document.getElementById('spoken').textContent.startsWith('Looks like 7, ')")
		for _, id := range []string{"latency", "size"} {
			if text := p.text(id); !strings.HasSuffix(text, "ms") && !strings.HasSuffix(text, "MB") {
				t.Errorf("%s is %q", id, text)
			}
		}
		p.vectors()
		p.picture("digits")
		p.fits()
		_, err := p.Eval("document.getElementById('clear').click()")
		p.check(err)
		p.wait("document.getElementById('guess').textContent === '–'")
	})
	t.Run("finger", func(t *testing.T) {
		p := open(t, b, url, phone)
		p.draw("4", p.Swipe)
		p.picture("digits-phone")
		p.fits()
	})
	t.Run("dark", func(t *testing.T) {
		p := open(t, b, url, night)
		p.draw("0", p.Drag)
		p.picture("digits-dark")
	})
	t.Run("keys", func(t *testing.T) {
		p := open(t, b, url, desk)
		p.check(p.Key("Tab"))
		p.wait("document.activeElement.id === 'pad'")
		for _, digit := range "0123456789" {
			p.check(p.Key(string(digit)))
			p.wait("document.getElementById('guess').textContent === '" + string(digit) + "'")
		}
		p.check(p.Key("Escape"))
		p.wait("document.getElementById('guess').textContent === '–'")
		p.check(p.Key(" "))
		for range 12 {
			p.check(p.Key("ArrowDown"))
		}
		p.wait("document.getElementById('guess').textContent === '1'")
		p.picture("digits-keys")
	})
}
