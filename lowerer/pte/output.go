package pte

import (
	"io"

	"github.com/rules-pte/rules_pte/lowerer/internal/output"
)

// writeApart is writeFile of a path that is none of the inputs.
func writeApart(path string, inputs []string, write func(w io.Writer) error) error {
	if err := output.Apart(inputs, []string{path}); err != nil {
		return err
	}
	return writeFile(path, write)
}

// writeFile lets write fill path; nothing is left if write fails.
func writeFile(path string, write func(w io.Writer) error) error { return output.Write(path, write) }

// pathCause is err without the path that *fs.PathError repeats.
func pathCause(err error) error { return output.Cause(err) }
