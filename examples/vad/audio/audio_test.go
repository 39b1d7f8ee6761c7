package audio

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// wav makes a file with a format chunk of these fields and a sine of 440 Hz, one second.
func wav(code, channels, rate, bits int) []byte {
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(code))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate*channels*bits/8))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels*bits/8))
	b = binary.LittleEndian.AppendUint16(b, uint16(bits))
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(rate*channels*2))
	for i := range rate {
		for range channels {
			b = binary.LittleEndian.AppendUint16(b, uint16(int16(16384*sine(i, rate))))
		}
	}
	return b
}

func sine(i, rate int) float64 { return math.Sin(2 * math.Pi * 440 * float64(i) / float64(rate)) }

func TestDecode(t *testing.T) {
	for _, format := range []Format{{1, 16000}, {2, 16000}, {1, 8000}, {2, 44100}, {1, 48000}, {1, 22050}} {
		got, f, err := Decode(wav(1, format.Channels, format.Rate, 16))
		if err != nil || f != format {
			t.Fatalf("%v: got %v, %v", format, f, err)
		}
		if len(got) != Rate {
			t.Fatalf("%v: got %d samples, want %d", format, len(got), Rate)
		}
		for i := 200; i < Rate-200; i++ { // the ends have no neighbours
			if want := sine(i, Rate) / 2; math.Abs(float64(got[i])-want) > 2e-3 {
				t.Fatalf("%v: sample %d: got %v, want %v", format, i, got[i], want)
			}
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	good := wav(1, 1, 16000, 16)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "not a RIFF WAVE file"},
		{"text", []byte("hello, this is no sound at all"), "not a RIFF WAVE file"},
		{"float", wav(3, 1, 16000, 32), "want 16-bit PCM (format 1), got format 3 with 32 bits"},
		{"8 bits", wav(1, 1, 16000, 8), "got format 1 with 8 bits"},
		{"surround", wav(1, 6, 16000, 16), "want 1 or 2 channels, got 6"},
		{"slow", wav(1, 1, 100, 16), "want a sample rate of 4000 to 384000 Hz, got 100"},
		{"truncated", good[:len(good)-1], `chunk "data" ends early`},
		{"header only", good[:36], "no data chunk"},
		{"short format", []byte("RIFF....WAVEfmt \x02\x00\x00\x00ab"), "want 16 bytes or more, got 2"},
		{"data first", []byte("RIFF....WAVEdata\x00\x00\x00\x00"), "before the format"},
	} {
		_, _, err := Decode(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
		}
	}
}
