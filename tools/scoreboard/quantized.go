package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// isQuantized reports a model with operators of quantization.
func isQuantized(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, "case.json"))
	return err == nil && (bytes.Contains(text, []byte(`"quantized_decomposed.`)) || bytes.Contains(text, []byte(`"torchao.`)))
}

// quantized says whether our program gives what theirs gives on the official runtime, and whether theirs does on ours:
// within one step, with the shares of values that are exactly equal.
func (j *judge) quantized(folder, ours, theirs string) verdict {
	if j.official == nil {
		return verdict{}
	}
	results := []string{filepath.Join(j.tmp, filepath.Base(folder)+"_ours"), filepath.Join(j.tmp, filepath.Base(folder)+"_theirs")}
	for i, program := range []string{ours, theirs} {
		_, stderr, err := j.call([]string{"run", program, "--case", filepath.Join(folder, "case.json"), "--output", results[i]})
		if err != nil && i == 0 {
			return fail(runReason("", stderr, err))
		}
	}
	d, err := j.official.compare(folder, theirs, ours, results)
	if err != nil {
		return fail(err.Error())
	}
	return d.verdict()
}

// distances are how far results are from a reference's: the share of equal values, and the largest distance in steps.
type distances struct {
	Reason       string
	Equal, Steps []float64
}

// verdict is ok if no distance is more than a step.
func (d *distances) verdict() verdict {
	if d.Reason != "" {
		return fail(d.Reason)
	}
	v := verdict{state: "ok"}
	for i, s := range d.Steps {
		if s > 1 {
			v.state = "fail"
		}
		if i > 0 {
			v.reason += ", "
		}
		if d.Equal[i] < 0 {
			v.reason += "none"
			continue
		}
		v.reason += fmt.Sprintf("%.2f%%", 100*d.Equal[i])
		if s > 0 {
			v.reason += fmt.Sprintf(" (%.2g of a step)", s)
		}
	}
	return v
}
