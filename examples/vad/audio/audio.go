// Package audio reads WAV files as one channel at 16 kHz.
package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Rate is the sample rate that Decode gives, in Hz.
const Rate = 16000

// Format is what a WAV file says about its samples.
type Format struct {
	Channels int
	Rate     int // Hz
}

// The sample rates that Decode takes, in Hz.
const (
	minRate = 4000
	maxRate = 384000
)

// Decode gives the samples of a WAV file in [-1, 1), its channels averaged, resampled to Rate.
//
// It takes 16-bit PCM with one or two channels at 4 to 384 kHz; anything else is an error that says what the file has.
func Decode(file []byte) ([]float32, Format, error) {
	format, data, err := chunks(file)
	if err != nil {
		return nil, Format{}, fmt.Errorf("read wav: %w", err)
	}
	return resample(mix(data, format.Channels), format.Rate), format, nil
}

// chunks finds the format and the sample bytes of a RIFF file.
func chunks(file []byte) (f Format, data []byte, err error) {
	if len(file) < 12 || string(file[:4]) != "RIFF" || string(file[8:12]) != "WAVE" {
		return f, nil, errors.New("not a RIFF WAVE file")
	}
	for rest := file[12:]; len(rest) >= 8; {
		id, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		if id == "data" && f.Channels == 0 {
			return f, nil, errors.New("the data chunk stands before the format")
		}
		if id == "data" && size == 0xffffffff { // written to a pipe
			size = uint64(len(rest))
		}
		if size > uint64(len(rest)) {
			return f, nil, fmt.Errorf("chunk %q ends early: want %d bytes, got %d", id, size, len(rest))
		}
		switch id {
		case "data":
			return f, rest[:size], nil
		case "fmt ":
			if f, err = parseFormat(rest[:size]); err != nil {
				return f, nil, err
			}
		}
		rest = rest[min(size+size%2, uint64(len(rest))):]
	}
	return f, nil, errors.New("no data chunk")
}

// The codes of PCM: plain, and as the sub-format of an extensible header.
const (
	formatPCM        = 1
	formatExtensible = 0xfffe
)

func parseFormat(b []byte) (Format, error) {
	if len(b) < 16 {
		return Format{}, fmt.Errorf("format chunk: want 16 bytes or more, got %d", len(b))
	}
	code := binary.LittleEndian.Uint16(b)
	if code == formatExtensible && len(b) >= 26 {
		code = binary.LittleEndian.Uint16(b[24:])
	}
	f := Format{int(binary.LittleEndian.Uint16(b[2:])), int(binary.LittleEndian.Uint32(b[4:]))}
	bits := binary.LittleEndian.Uint16(b[14:])
	switch {
	case code != formatPCM || bits != 16:
		return f, fmt.Errorf("want 16-bit PCM (format 1), got format %d with %d bits", code, bits)
	case f.Channels != 1 && f.Channels != 2:
		return f, fmt.Errorf("want 1 or 2 channels, got %d", f.Channels)
	case f.Rate < minRate || f.Rate > maxRate:
		return f, fmt.Errorf("want a sample rate of %d to %d Hz, got %d", minRate, maxRate, f.Rate)
	}
	return f, nil
}

// mix averages the channels of 16-bit samples.
func mix(data []byte, channels int) []float32 {
	out := make([]float32, len(data)/(2*channels))
	for i := range out {
		sum := 0
		for c := range channels {
			sum += int(int16(binary.LittleEndian.Uint16(data[2*(i*channels+c):])))
		}
		out[i] = float32(sum) / float32(32768*channels)
	}
	return out
}
