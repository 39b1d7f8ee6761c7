package abi

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

//bazel:data //runtime/executor:testdata

const addFile = "../../executor/testdata/add/portable.pte"

// TestMain links all kernels and embeds a program that adds two tensors of (2, 3) float32.
func TestMain(m *testing.M) {
	add, err := os.ReadFile(addFile)
	if err != nil {
		panic(err)
	}
	SetBinary(Binary{
		Options: executor.LoadOptions{Kernels: op.Kernels},
		Names:   []string{"add"},
		Bytes: func(name string) []byte {
			if name == "add" {
				return add
			}
			return nil
		},
	})
	os.Exit(m.Run())
}

// TestLayout holds the sizes that pte.h states.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"options", unsafe.Sizeof(Options{}), 48},
		{"method info", unsafe.Sizeof(MethodInfo{}), 16},
		{"value", unsafe.Sizeof(Value{}), 192},
		{"value info", unsafe.Sizeof(ValueInfo{}), 168},
		{"data", unsafe.Offsetof(Value{}.Data), 24},
		{"sizes", unsafe.Offsetof(Value{}.Sizes), 64},
		{"sizes of an info", unsafe.Offsetof(ValueInfo{}.Sizes), 40},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.name, c.got, c.want)
		}
	}
}

func text(t *testing.T, address uintptr) string {
	t.Helper()
	return cText(*(**byte)(unsafe.Pointer(&address)))
}

// kept holds what values point to, since their addresses do not.
var kept [][]float32

// TestCacheError asks for a weight cache where there are no files, and for errors of one.
func TestCacheError(t *testing.T) {
	var h Handle
	path := []byte("weights\x00")
	want := "options: there is no weight cache here"
	if err := LoadEmbedded("", &Options{WeightCache: &path[0]}, &h); err == nil || !strings.Contains(err.Error(), want) || h != 0 {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := LoadEmbedded("", nil, &h); err != nil {
		t.Fatal(err)
	}
	defer DestroyProgram(h)
	var address uintptr
	if err := CacheError(h, &address); err != nil || text(t, address) != "" {
		t.Errorf("%v, %q", err, text(t, address))
	}
	if err := CacheError(h, nil); err != errNil {
		t.Errorf("got %v, want %v", err, errNil)
	}
	if err := CacheError(h+1, &address); err == nil || !strings.Contains(err.Error(), "there is no program with handle") {
		t.Errorf("got %v", err)
	}
}

// floats is a value with a tensor of float32.
func floats(data []float32, sizes ...int64) *Value {
	kept = append(kept, data)
	v := &Value{Kind: int32(executor.Tensor), DType: int32(tensor.Float), Rank: uint32(len(sizes)),
		Data: uintptr(unsafe.Pointer(unsafe.SliceData(data))), Nbytes: uint64(4 * len(data))}
	copy(v.Sizes[:], sizes)
	return v
}

// open loads the embedded program and makes an instance and its method.
func open(t *testing.T) (program, instance, method Handle) {
	t.Helper()
	for _, err := range []error{LoadEmbedded("", nil, &program), NewInstance(program, &instance), FindMethod(instance, "forward", &method)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return program, instance, method
}

func TestRun(t *testing.T) {
	program, instance, method := open(t)
	x, y := []float32{1, 2, 3, 4, 5, 6}, []float32{10, 20, 30, 40, 50, 60}
	var out Value
	for _, err := range []error{
		SetInput(method, 0, floats(x, 2, 3)), SetInput(method, 1, floats(y, 2, 3)), Run(method), Output(method, 0, &out),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if out.Rank != 2 || out.Sizes[0] != 2 || out.Sizes[1] != 3 || out.Nbytes != 24 || out.DimOrder[1] != 1 {
		t.Errorf("output %+v, want 2 x 3 floats", out)
	}
	for i, got := range unsafe.Slice(*(**float32)(unsafe.Pointer(&out.Data)), 6) {
		if want := x[i] + y[i]; got != want {
			t.Errorf("output %d is %g, want %g", i, got, want)
		}
	}
	DestroyInstance(instance)
	DestroyProgram(program)
	if n := Count(); n != 0 {
		t.Errorf("%d handles are left, want none", n)
	}
}

func TestDescribe(t *testing.T) {
	var program Handle
	if err := LoadFile(addFile, &Options{Threads: 1, MaxMemory: 1 << 20}, &program); err != nil {
		t.Fatal(err)
	}
	defer DestroyProgram(program)
	var methods uint32
	var name, embedded uintptr
	var method MethodInfo
	var in, out ValueInfo
	for _, err := range []error{
		MethodCount(program, &methods), MethodName(program, 0, &name), Describe(program, "forward", &method), EmbeddedName(0, &embedded),
		DescribeInput(program, "forward", 1, &in), DescribeOutput(program, "forward", 0, &out),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if methods != 1 || text(t, name) != "forward" || text(t, embedded) != "add" || EmbeddedCount() != 1 {
		t.Errorf("%d methods, first %q; program %q", methods, text(t, name), text(t, embedded))
	}
	if method.Inputs != 2 || method.Outputs != 1 || method.ArenaBytes <= 0 {
		t.Errorf("method %+v, want 2 inputs, 1 output and an arena", method)
	}
	for _, i := range []ValueInfo{in, out} {
		if i.Kind != int32(executor.Tensor) || i.DType != int32(tensor.Float) || i.Rank != 2 || i.Sizes[1] != 3 || i.DimOrder[1] != 1 || i.Flags&Written != 0 {
			t.Errorf("value %+v, want a float tensor of (2, 3)", i)
		}
	}
}

// TestRefused checks the codes and texts of wrong calls.
func TestRefused(t *testing.T) {
	program, instance, method := open(t)
	defer DestroyProgram(program)
	defer DestroyInstance(instance)
	x := make([]float32, 7)
	good := floats(x[:6], 2, 3)
	with := func(change func(*Value)) *Value {
		v := *good
		change(&v)
		return &v
	}
	var h Handle
	var v Value
	garbage := []byte("no program at all, not even a header of one")
	for _, c := range []struct {
		name string
		err  error
		code pte.Code
		want string
	}{
		{"no program", LoadEmbedded("sub", nil, &h), pte.NotFound, `no program "sub" is in this binary: there are "add"`},
		{"no file", LoadFile("absent.pte", nil, &h), pte.AccessFailed, "absent.pte"},
		{"garbage", Load(unsafe.Pointer(&garbage[0]), uint64(len(garbage)), nil, &h), pte.InvalidProgram, ""},
		{"null", Load(nil, 8, nil, &h), pte.InvalidArgument, "an address is null"},
		{"options", LoadEmbedded("", &Options{Threads: -1}, &h), pte.InvalidArgument, "options: want no negative number"},
		{"memory", LoadEmbedded("", &Options{Reserved: 1}, &h), pte.InvalidArgument, "0 in reserved"},
		{"handle", NewInstance(12345, &h), pte.InvalidArgument, "there is no program with handle 12345, or it was destroyed"},
		{"other kind", Run(program), pte.InvalidArgument, "there is no method with handle"},
		{"method", FindMethod(instance, "backward", &h), pte.InvalidArgument, `no method "backward"; there are "forward"`},
		{"early output", Output(method, 0, &v), pte.InvalidState, "there is no output before a call that succeeded"},
		{"not set", Run(method), pte.InvalidArgument, "input 0 is not set"},
		{"input", SetInput(method, 2, good), pte.InvalidArgument, "there is no input 2: there are 2"},
		{"kind", SetInput(method, 0, with(func(v *Value) { v.Kind = 99 })), pte.InvalidArgument, "input 0: there is no kind 99"},
		{"dtype", SetInput(method, 0, with(func(v *Value) { v.DType = 6 + 256 })), pte.InvalidArgument, "input 0: there is no dtype 262"},
		{"rank", SetInput(method, 0, with(func(v *Value) { v.Rank = 17 })), pte.InvalidArgument, "rank is 17, want at most 16"},
		{"order", SetInput(method, 0, with(func(v *Value) { v.DimOrder[0] = 1 << 7 })), pte.InvalidArgument, "dim_order is no order"},
		{"size", SetInput(method, 0, with(func(v *Value) { v.Sizes[0] = -1 })), pte.InvalidArgument, "a size is negative"},
		{"huge", SetInput(method, 0, with(func(v *Value) { v.Sizes[0] = 1 << 60 })), pte.InvalidArgument, "the tensor is too large"},
		{"short", SetInput(method, 0, with(func(v *Value) { v.Nbytes = 23 })), pte.InvalidArgument, "nbytes is 23, want 24 or more"},
		{"null data", SetInput(method, 0, with(func(v *Value) { v.Data = 0 })), pte.InvalidArgument, "data is null"},
		{"not aligned", SetInput(method, 0, with(func(v *Value) { v.Data++ })), pte.InvalidArgument, "want a multiple of 4"},
		{"reserved", SetInput(method, 0, with(func(v *Value) { v.Reserved = 1 })), pte.InvalidArgument, "reserved is not 0"},
		{"other shape", func() error {
			if err := SetInput(method, 0, floats(x[:6], 3, 2)); err != nil {
				t.Fatal(err)
			}
			if err := SetInput(method, 1, good); err != nil {
				t.Fatal(err)
			}
			return Run(method)
		}(), pte.InvalidArgument, "input 0"},
	} {
		if c.err == nil || Status(c.err) != int32(c.code) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %v with %q", c.name, c.err, c.code, c.want)
		}
	}
}

// TestDestroyed checks that handles of what was destroyed are errors.
func TestDestroyed(t *testing.T) {
	program, instance, method := open(t)
	DestroyProgram(program)
	DestroyProgram(program)
	DestroyInstance(instance)
	DestroyInstance(instance)
	var h Handle
	for name, err := range map[string]error{
		"program": NewInstance(program, &h), "instance": FindMethod(instance, "forward", &h), "method": Run(method),
	} {
		if Status(err) != int32(pte.InvalidArgument) {
			t.Errorf("%s: %v, want %v", name, err, pte.InvalidArgument)
		}
	}
}

// TestBusy checks that calls beside one that is under way are errors.
func TestBusy(t *testing.T) {
	program, instance, method := open(t)
	defer DestroyProgram(program)
	defer DestroyInstance(instance)
	m, err := enter(method)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"set input": SetInput(method, 0, floats(make([]float32, 6), 2, 3)), "run": Run(method), "output": Output(method, 0, new(Value)),
	} {
		if Status(err) != int32(pte.InvalidState) {
			t.Errorf("%s: %v, want %v", name, err, pte.InvalidState)
		}
	}
	m.leave()
	if err := SetInput(method, 0, floats(make([]float32, 6), 2, 3)); err != nil {
		t.Error(err)
	}
}

// TestNoAllocation holds for a call with its input and output.
func TestNoAllocation(t *testing.T) {
	program, instance, method := open(t)
	defer DestroyProgram(program)
	defer DestroyInstance(instance)
	in, out := floats(make([]float32, 6), 2, 3), new(Value)
	call := func() {
		for _, err := range []error{SetInput(method, 0, in), SetInput(method, 1, in), Run(method), Output(method, 0, out)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := testing.AllocsPerRun(10, call); n > 0 {
		t.Errorf("a call allocates %g times, want never", n)
	}
}
