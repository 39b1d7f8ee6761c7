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

// Write lets write fill a temporary file beside path and renames it to path, or to the file that path is a link to. If write fails or
// panics, path is as it was and the temporary file is gone, also where a signal ends the process. What is no regular file, such as a
// pipe or a device, is written to, and so is the process's own output, such as /dev/stdout. The error is write's, or a *diag.Error that
// names path.
func Write(path string, write func(w io.Writer) error) error {
	to, err := place(path)
	if err != nil {
		return fail(path, err)
	}
	if to == "" {
		return through(path, write)
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".pte-*")
	if err != nil {
		return fail(path, err)
	}
	hold(f)
	defer release(f)
	done := false
	defer func() {
		if !done { // also when write panics
			remove(f)
		}
	}()
	buf := bufio.NewWriterSize(f, 1<<20)
	if err := write(buf); err != nil {
		return err
	}
	if err := commit(to, f, buf); err != nil {
		return fail(path, err)
	}
	done = true
	return nil
}

// place is what a file takes the place of that is to lie at path: path, or what that is a link to; "" if that is no regular file.
func place(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return "", errors.New("is a directory, want the name of a file")
	case err == nil && (!info.Mode().IsRegular() || own(path) != nil):
		return "", nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	for { // Stat would not end where this does not
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Dir(path) + string(filepath.Separator) + to
		}
		path = to
	}
}

// own is the output of the process that path names, which knows where in a file it is, or nil.
func own(path string) *os.File {
	info, err := os.Stat(path)
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if i, e := f.Stat(); err == nil && e == nil && os.SameFile(i, info) {
			return f
		}
	}
	return nil
}

// through writes to what is at path.
func through(path string, write func(w io.Writer) error) error {
	f, done := own(path), func() error { return nil }
	if f == nil {
		var err error
		if f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			return fail(path, err)
		}
		done = f.Close
		defer f.Close()
	}
	buf := bufio.NewWriterSize(f, 1<<20)
	if err := write(buf); err != nil {
		return err
	}
	if err := errors.Join(buf.Flush(), done()); err != nil {
		return fail(path, err)
	}
	return nil
}

// Apart refuses outputs that are inputs, or each other; "" among them is none. The error is a *diag.Error that names the output.
func Apart(inputs, outputs []string) error {
	for i, out := range outputs {
		if out == "" {
			continue
		}
		info, err := os.Stat(out)
		if err == nil {
			for _, in := range inputs {
				if from, e := os.Stat(in); e == nil && os.SameFile(info, from) {
					return apart(out, "would replace the input "+in)
				}
			}
		}
		if err == nil && !info.Mode().IsRegular() { // such as /dev/null
			continue
		}
		for _, other := range outputs[:i] {
			if to, e := os.Stat(other); other != "" && (filepath.Clean(other) == filepath.Clean(out) || err == nil && e == nil && os.SameFile(info, to)) {
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
			return err
		}
	}
	return nil
}

func fail(path string, err error) error {
	e := diag.New(diag.FileWrite, path, "%w", Cause(err))
	if errors.Is(err, fs.ErrNotExist) {
		return e.WithHint("make the folder, or choose another path")
	}
	return e.WithHint("choose another path")
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
