// Package weightcache keeps the packed weights of a program in a file, so that the next load need not pack them.
//
// The file is mapped, so that processes that run the same program share its memory. What it holds is used where the same version
// packs the same constants for the same instruction set; otherwise weights are packed, and the file is replaced.
package weightcache

import (
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
)

// layouts is the version of how weights are packed. TestLayouts says when it is to be raised.
const layouts = 4

// File keeps the packed weights of one program in the file path, which is written when the first instance is made, in a folder
// that exists. Truncating the file while a program uses it ends the process; File only ever replaces it, and only if it is empty or
// begins as such files do.
//
// A program runs without the file, too: failed gets what went wrong with it, on the goroutine that loads or makes an instance: that it
// cannot be read, is damaged, was of another program or machine, or cannot be written. That there is no file yet is no failure.
// It may call nothing of the program, whose locks are held. Nil tells nobody.
func File(path string, failed func(error)) executor.WeightCache {
	if failed == nil {
		failed = func(error) {}
	}
	return func(t kernel.Tier) executor.Weights {
		w := &weights{path: path, failed: failed, machine: runtime.GOARCH + " " + t.String() + " " + strconv.Itoa(layouts)}
		w.open()
		return w
	}
}

// weights are those of one load.
type weights struct {
	path    string
	failed  func(error)
	machine string
	unmap   func()
	usable  bool    // the file, so far
	foreign bool    // it is another kind of file, which somebody may want to keep
	left    []piece // of the file
	all     []piece // what was taken
	missed  bool    // something of all is not in the file
}

func (w *weights) fail(msg string, err error) {
	w.failed(errors.New(msg + " weight cache " + w.path + ": " + err.Error()))
}

// errOther is for a file that is as it should be.
var errOther = errors.New("it is of another program, version or instruction set; weights are packed anew")

// open maps the file.
func (w *weights) open() {
	info, err := os.Stat(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err = os.Lstat(w.path); err != nil {
			return
		}
	}
	var file []byte
	var unmap func()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		file, unmap, err = executor.MapFile(w.path)
	default: // a link is one to nothing
		err = errForeign
	}
	if err != nil {
		w.foreign = true
		w.fail("read", err)
		return
	}
	if len(file) == 0 {
		unmap()
		return
	}
	machine, list, err := parse(aligned(file))
	if err == nil && machine != w.machine {
		err = errOther
	}
	if err != nil {
		unmap()
		w.foreign = err == errForeign
		w.fail("read", err)
		return
	}
	w.left, w.usable, w.unmap = list, true, unmap
}

// aligned is b, or a copy of it, at a multiple of align, where mapped files are.
func aligned(b []byte) []byte {
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%align == 0 {
		return b
	}
	c := op.AlignedBytes(len(b))
	copy(c, b)
	return c
}

// Take is executor.Weights.Take.
func (w *weights) Take(p executor.PackedWeight, alloc func(n int) []byte) (b []byte, packed bool) {
	key := p.Key
	for _, c := range p.From {
		key += " " + sums(c)
	}
	if len(w.left) > 0 && w.left[0].key == key && len(w.left[0].data) == p.Bytes {
		b, packed, w.left = w.left[0].data, true, w.left[1:]
	} else {
		if w.usable {
			w.fail("read", errOther)
		}
		b, w.left, w.usable, w.missed = alloc(p.Bytes), nil, false, true
	}
	w.all = append(w.all, piece{key, b})
	return b, packed
}

// block is how many bytes have a sum of their own.
const block = 64 << 10

// sums stand for the bytes of b: how many there are, and the CRC-32C of each block.
func sums(b []byte) string {
	table := crc32.MakeTable(crc32.Castagnoli)
	s := strconv.Itoa(len(b))
	for len(b) > 0 {
		n := min(len(b), block)
		s += ":" + strconv.FormatUint(uint64(crc32.Checksum(b[:n], table)), 16)
		b = b[n:]
	}
	return s
}

// Keep replaces the file, unless all that was taken was in it.
func (w *weights) Keep() {
	if !w.missed || w.foreign {
		return
	}
	w.missed = false
	if err := w.write(); err != nil {
		w.fail("write", err)
	}
}

func (w *weights) write() (err error) {
	path := w.path
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to // a link stays one
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		var e *fs.PathError
		if errors.As(err, &e) {
			return e.Err // its path is nobody's
		}
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	err = w.writeTo(f)
	if err == nil {
		err = f.Chmod(0o644) // for processes of other users, as most files are
	}
	if err == nil {
		err = f.Sync() // or after a crash the name could stand for a file without its bytes
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

func (w *weights) writeTo(f *os.File) error {
	b := head(w.machine, w.all)
	for _, p := range w.all {
		if _, err := f.Write(b); err != nil {
			return err
		}
		if _, err := f.Write(p.data); err != nil {
			return err
		}
		b = padding(len(p.data))
	}
	_, err := f.Write(b)
	return err
}

// Close is executor.Weights.Close.
func (w *weights) Close() {
	if w.unmap != nil {
		w.unmap()
	}
}
