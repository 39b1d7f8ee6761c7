// Command digits classifies 100 images of handwritten digits and draws a few.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	_ "embed"
)

//go:embed test_images.npy
var imageFile []byte

//go:embed test_labels.npy
var labelFile []byte

const (
	side    = 8 // pixels
	pixels  = side * side
	classes = 10
	shown   = 5 // images drawn side by side
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "digits: %v\n", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	images, err := body(imageFile)
	if err != nil {
		return fmt.Errorf("read images: %w", err)
	}
	labels, err := body(labelFile)
	if err != nil {
		return fmt.Errorf("read labels: %w", err)
	}
	scores, err := classify(context.Background(), images)
	if err != nil {
		return err
	}
	guesses := make([]int, len(scores)/classes)
	right := 0
	for i := range guesses {
		guesses[i] = best(scores[i*classes:][:classes])
		if guesses[i] == int(binary.LittleEndian.Uint64(labels[8*i:])) {
			right++
		}
	}
	draw(w, images, guesses)
	fmt.Fprintf(w, "%d of %d right: accuracy %.1f %%\n", right, len(guesses), 100*float64(right)/float64(len(guesses)))
	return nil
}

// body is the elements of a .npy file.
func body(file []byte) ([]byte, error) {
	if len(file) < 10 || string(file[:6]) != "\x93NUMPY" {
		return nil, errors.New("not a .npy file")
	}
	header := int(binary.LittleEndian.Uint16(file[8:]))
	if len(file) < 10+header {
		return nil, errors.New("the header ends early")
	}
	return file[10+header:], nil
}

// best is the class with the highest score.
func best(scores []float32) int {
	at := 0
	for i, s := range scores {
		if s > scores[at] {
			at = i
		}
	}
	return at
}

// draw prints the first images, side by side, with what they were taken for.
func draw(w io.Writer, images []byte, guesses []int) {
	shades := []rune(" ░▒▓█")
	n := min(shown, len(guesses))
	for row := range side {
		var line strings.Builder
		for i := range n {
			for col := range side {
				v := pixel(images, i*pixels+row*side+col)
				shade := shades[int(min(max(v, 0), 1)*float32(len(shades)-1)+0.5)]
				line.WriteString(strings.Repeat(string(shade), 2))
			}
			line.WriteString("  ")
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
	var line strings.Builder
	for i := range n {
		fmt.Fprintf(&line, "%-*s", 2*side+2, fmt.Sprintf("%*d", side+1, guesses[i]))
	}
	fmt.Fprintf(w, "%s\n\n", strings.TrimRight(line.String(), " "))
}

func pixel(images []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(images[4*i:]))
}
