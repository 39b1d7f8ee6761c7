package main

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rules-pte/rules_pte/lowerer/diag"
)

// writeFile lets write fill a temporary file beside path and renames it to path; nothing is left if write fails.
func writeFile(path string, write func(w io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".pte-*")
	if err != nil {
		return writeError(path, err)
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

func commit(path string, f *os.File, buf *bufio.Writer) error {
	for _, step := range []func() error{
		buf.Flush,
		func() error { return f.Chmod(0o644) },
		f.Close,
		func() error { return os.Rename(f.Name(), path) },
	} {
		if err := step(); err != nil {
			return writeError(path, err)
		}
	}
	return nil
}

func writeError(path string, err error) error {
	return diag.New(diag.FileWrite, path, "%w", pathCause(err))
}

// pathCause is err without the path that *fs.PathError repeats.
func pathCause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
