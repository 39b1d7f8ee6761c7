package main

import "github.com/rules-pte/rules_pte/examples/vad/audio"

const (
	frameSize   = 512 // samples that a call of the model takes
	contextSize = 64  // samples before them that it sees again
	stateSize   = 256 // numbers that go from call to call
)

// The publisher's own settings: speech begins at one probability and ends below another, for a while.
const (
	onset      = 0.5
	offset     = 0.35
	minSilence = audio.Rate / 10 // samples
	minSpeech  = audio.Rate / 4
	padding    = audio.Rate * 3 / 100
)

// segment is a range of samples with speech.
type segment struct{ start, end int }

// segments joins frames with speech in them; total is the length of the signal.
func segments(probabilities []float32, total int) []segment {
	var out []segment
	start, silence := -1, -1
	end := func(at int) {
		if at-start >= minSpeech {
			out = append(out, segment{max(start-padding, 0), min(at+padding, total)})
		}
		start, silence = -1, -1
	}
	for i, p := range probabilities {
		at := i * frameSize
		switch {
		case p >= onset && start < 0:
			start = at
		case p >= onset:
			silence = -1
		case p < offset && start >= 0 && silence < 0:
			silence = at
		}
		if silence >= 0 && at-silence >= minSilence {
			end(silence)
		}
	}
	if start >= 0 {
		end(total)
	}
	return out
}
