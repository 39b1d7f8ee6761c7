package abi

import (
	"os"
	"strings"
	"testing"
	"unsafe"
)

const externalDir = "../../executor/testdata/external/"

// TestData loads a program with its data file, mapped and as bytes, and runs it after the file's handle is destroyed.
func TestData(t *testing.T) {
	file, err := os.ReadFile(externalDir + "weights.ptd")
	if err != nil {
		t.Fatal(err)
	}
	for name, load := range map[string]func(out *Handle) error{
		"mapped": func(out *Handle) error { return LoadDataFile(externalDir+"weights.ptd", out) },
		"bytes":  func(out *Handle) error { return LoadData(unsafe.Pointer(&file[0]), uint64(len(file)), out) },
	} {
		t.Run(name, func(t *testing.T) {
			var data, program, instance, method Handle
			var out Value
			check := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			check(load(&data))
			check(LoadFile(externalDir+"program.pte", &Options{Data: data}, &program))
			check(NewInstance(program, &instance))
			DestroyData(data)
			DestroyProgram(program)
			check(FindMethod(instance, "forward", &method))
			check(SetInput(method, 0, floats(make([]float32, 6), 2, 3)))
			check(Run(method))
			check(Output(method, 0, &out))
			if out.Nbytes != 16 {
				t.Errorf("output of %d bytes, want 16", out.Nbytes)
			}
			DestroyInstance(instance)
			if n := Count(); n != 0 {
				t.Errorf("%d handles are left, want none", n)
			}
		})
	}
}

// TestDataUsers counts when the file is unmapped: behind the last of its handle, a program and an instance.
func TestDataUsers(t *testing.T) {
	d := &data{}
	unmapped := 0
	d.unmap = func() { unmapped++ }
	d.users.Store(1)
	h := register(d)
	for range 2 {
		if got, err := findData(h); got != d || err != nil {
			t.Fatalf("find: %v, %v", got, err)
		}
	}
	DestroyData(h)
	DestroyData(h)
	d.release()
	if unmapped != 0 {
		t.Error("unmapped with a user left")
	}
	d.release()
	if unmapped != 1 || d.retain() {
		t.Errorf("unmapped %d times, want 1", unmapped)
	}
}

func TestDataRefused(t *testing.T) {
	var out Handle
	bytes := make([]byte, 64)
	program := func(o Options) error { return LoadFile(externalDir+"program.pte", &o, &out) }
	for _, c := range []struct {
		err  error
		want string
	}{
		{LoadData(nil, 64, &out), "an address is null"},
		{LoadData(unsafe.Pointer(&bytes[0]), 64, nil), "an address is null"},
		{LoadData(unsafe.Pointer(&bytes[0]), 1<<50, &out), "the size of the data file is not one"},
		{LoadData(unsafe.Pointer(&bytes[0]), 64, &out), "this is no .ptd file"},
		{LoadDataFile("absent.ptd", &out), "absent.ptd"},
		{program(Options{}), "neither in the program nor in the data files given with it"},
		{program(Options{Data: 1 << 40}), "there is no data file with handle"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %s", c.err, c.want)
		}
	}
}
