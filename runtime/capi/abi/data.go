package abi

import (
	"sync/atomic"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/pte/ptd"
)

// data is what a data file holds.
type data struct {
	entries []pte.NamedData
	unmap   func()       // nil if the file is the caller's
	users   atomic.Int64 // its handle, and programs and instances that read it
}

// retain counts a user, unless the last one is gone.
func (d *data) retain() bool {
	for n := d.users.Load(); n > 0; n = d.users.Load() {
		if d.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// release ends what retain, or a load, began. A nil d has no users.
func (d *data) release() {
	if d != nil && d.users.Add(-1) == 0 && d.unmap != nil {
		d.unmap()
	}
}

// LoadData reads the bytes of a .ptd, which must stay as they are until it is destroyed, and all programs that were loaded with it.
func LoadData(address unsafe.Pointer, size uint64, out *Handle) error {
	if address == nil {
		return errNil
	}
	if size > maxFile {
		return fail("the size of the data file is not one")
	}
	return readData(unsafe.Slice((*byte)(address), size), nil, out)
}

// LoadDataFile maps a .ptd.
func LoadDataFile(path string, out *Handle) error {
	file, unmap, err := executor.MapFile(path)
	if err != nil {
		return err
	}
	if err := readData(file, unmap, out); err != nil {
		unmap()
		return err
	}
	return nil
}

func readData(file []byte, unmap func(), out *Handle) error {
	if out == nil {
		return errNil
	}
	*out = 0
	entries, err := ptd.Read(file)
	if err != nil {
		return err
	}
	d := &data{entries: entries, unmap: unmap}
	d.users.Store(1)
	*out = register(d)
	return nil
}

// DestroyData frees a data file once the programs that were loaded with it are.
func DestroyData(h Handle) {
	if d, ok := remove[*data](h); ok {
		d.release()
	}
}

// findData is the data file of a handle, counted as used, or nil for no handle.
func findData(h Handle) (*data, error) {
	if h == 0 {
		return nil, nil
	}
	d, err := find[*data](h, "data file")
	if err == nil && !d.retain() {
		err = fail("the data file is being destroyed")
	}
	return d, err
}
