// Command vad prints where in a WAV file somebody speaks.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	_ "embed"

	"github.com/rules-pte/rules_pte/examples/vad/audio"
)

//go:embed speech.wav
var speech []byte

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: vad [file.wav]\nWithout a file it listens to speech.wav, which it holds.")
	}
	flag.Parse()
	if flag.NArg() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, flag.Arg(0)); err != nil {
		fmt.Fprintf(os.Stderr, "vad: %v\n", err)
		os.Exit(1)
	}
}

// open reads a file; `bazel run` says where its user stands.
func open(name string) ([]byte, error) {
	if name == "" {
		return speech, nil
	}
	if dir := os.Getenv("BUILD_WORKING_DIRECTORY"); dir != "" && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return os.ReadFile(name)
}

// run prints the segments of a file, or of the one within if name is empty.
func run(w io.Writer, name string) error {
	file, err := open(name)
	if err != nil {
		return err
	}
	if name == "" {
		name = "speech.wav"
	}
	samples, format, err := audio.Decode(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	d, err := newDetector()
	if err != nil {
		return err
	}
	defer d.close()
	begin := time.Now()
	probabilities, err := d.listen(context.Background(), samples)
	if err != nil {
		return err
	}
	elapsed := time.Since(begin).Seconds()
	channels := []string{"mono", "stereo"}[format.Channels-1]
	fmt.Fprintf(w, "%s: %.2f s, %s, %d Hz\n", name, seconds(len(samples)), channels, format.Rate)
	report(w, segments(probabilities, len(samples)))
	fmt.Fprintf(w, "%.3f s of work: %.0f times faster than real time\n", elapsed, seconds(len(samples))/elapsed)
	return nil
}

func seconds(samples int) float64 { return float64(samples) / audio.Rate }

func report(w io.Writer, found []segment) {
	if len(found) == 0 {
		fmt.Fprintln(w, "no speech")
	}
	for _, s := range found {
		fmt.Fprintf(w, "speech %7.2f s to %7.2f s\n", seconds(s.start), seconds(s.end))
	}
}
