// Package output writes files so that nothing is left of one that could not be written whole.
package output

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// Write lets write fill a temporary file beside path and renames it to path. If write fails or panics, path is as it
// was and the temporary file is gone. The error is write's, or a *diag.Error that names path.
func Write(path string, write func(w io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fail(path, errors.New("is a directory, want the name of a file"))
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".pte-*")
	if err != nil {
		return fail(path, err)
	}
	done := false
	defer func() {
		if !done { // also when write panics
			f.Close()
			os.Remove(f.Name())
		}
	}()
	buf := bufio.NewWriterSize(f, 1<<20)
	if err := write(buf); err != nil {
		return err
	}
	err = commit(path, f, buf)
	done = err == nil
	return err
}

// Apart refuses outputs that are inputs, or each other; "" among them is none. The error is a *diag.Error that names the output.
func Apart(inputs, outputs []string) error {
	for i, out := range outputs {
		if out == "" {
			continue
		}
		info, err := os.Stat(out)
		for _, in := range inputs {
			if from, e := os.Stat(in); err == nil && e == nil && os.SameFile(info, from) {
				return apart(out, "would replace the input "+in)
			}
		}
		for _, other := range outputs[:i] {
			if other != "" && filepath.Clean(other) == filepath.Clean(out) {
				return apart(out, "is the file of two outputs")
			}
		}
	}
	return nil
}

func apart(path, msg string) error {
	return diag.New(diag.FileWrite, path, "%s", msg).WithHint("choose another path")
}

// MkdirFor makes the folder that path lies in. The error is a *diag.Error.
func MkdirFor(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fail(path, err)
	}
	return nil
}

func commit(path string, f *os.File, buf *bufio.Writer) error {
	for _, step := range []func() error{
		buf.Flush,
		func() error { return f.Chmod(0o644) },
		f.Close,
		func() error { return os.Rename(f.Name(), path) },
	} {
		if err := step(); err != nil {
			return fail(path, err)
		}
	}
	return nil
}

func fail(path string, err error) error {
	return diag.New(diag.FileWrite, path, "%w", Cause(err)).WithHint("make the folder, or choose another path")
}

// Cause is err without the paths that *fs.PathError and *os.LinkError repeat.
func Cause(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}
