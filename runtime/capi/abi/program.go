package abi

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/executor"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// maxFile is more than any file has.
const maxFile = 1 << 46

// Options are pte_options, 48 bytes: what a program may use. Zeros are defaults.
type Options struct {
	MaxMemory       int64 // bytes
	MaxInstructions int64
	Seed            uint64
	Threads         int32
	Reserved        int32 // 0
	// Data is the file with constants that are not in the program, or 0.
	Data Handle
	// WeightCache is the path of a file that keeps packed weights, ended by a zero, or nil.
	WeightCache *byte
}

// MethodInfo is pte_method_info, 16 bytes.
type MethodInfo struct {
	Inputs, Outputs uint32
	ArenaBytes      int64 // of all planned arenas together
}

// program is a loaded program with the texts that callers point to.
type program struct {
	*executor.Program
	data    *data // or nil
	methods []executor.MethodInfo
	names   []*byte // ended by zeros
	cache   *cacheErrors
}

// cacheErrors are what went wrong with a weight cache, as texts that stay where they are.
type cacheErrors struct {
	sync.Mutex
	texts []*byte // the first is empty; ended by zeros
}

func (c *cacheErrors) add(err error) {
	c.Lock()
	defer c.Unlock()
	c.texts = append(c.texts, cStrings([]string{err.Error()})...)
}

// Binary is what the generated package pteprogram says of a binary.
type Binary struct {
	// Options are the kernels and backends that are linked.
	Options executor.LoadOptions
	// Names are the embedded programs, Bytes the file of one.
	Names []string
	Bytes func(name string) []byte
	// WeightCache is weightcache.File, or nil where there are no files.
	WeightCache func(path string, failed func(error)) executor.WeightCache
	names       []*byte
}

// binary is this one. A front end sets it before any call.
var binary atomic.Pointer[Binary]

// SetBinary says what is linked.
func SetBinary(b Binary) {
	b.names = cStrings(b.Names)
	binary.Store(&b)
}

// cStrings are texts ended by zeros. Whoever has the result keeps them.
func cStrings(texts []string) []*byte {
	out := make([]*byte, len(texts))
	for i, t := range texts {
		out[i] = unsafe.SliceData(append([]byte(t), 0))
	}
	return out
}

// EmbeddedCount is the number of embedded programs.
func EmbeddedCount() uint32 { return uint32(len(binary.Load().Names)) }

// EmbeddedName writes the address of the name of an embedded program, which stays.
func EmbeddedName(i uint32, out *uintptr) error {
	return name(binary.Load().names, i, "embedded program", out)
}

func name(names []*byte, i uint32, what string, out *uintptr) error {
	if out == nil {
		return errNil
	}
	if err := index(i, len(names), what); err != nil {
		return err
	}
	*out = uintptr(unsafe.Pointer(names[i]))
	return nil
}

// Load makes a program of the bytes of a .pte, which must stay as they are until the program and its instances are destroyed.
func Load(data unsafe.Pointer, size uint64, options *Options, out *Handle) error {
	if data == nil || out == nil {
		return errNil
	}
	if size > maxFile {
		return fail("the size of the program is not one")
	}
	return load(options, out, func(o executor.LoadOptions) (*executor.Program, error) {
		return executor.Load(unsafe.Slice((*byte)(data), size), o)
	})
}

// LoadFile maps a .pte and makes a program of it.
func LoadFile(path string, options *Options, out *Handle) error {
	return load(options, out, func(o executor.LoadOptions) (*executor.Program, error) {
		return executor.LoadFile(path, o)
	})
}

// LoadEmbedded makes a program of an embedded one, the first if name is empty.
func LoadEmbedded(name string, options *Options, out *Handle) error {
	b := binary.Load()
	if name == "" && len(b.Names) > 0 {
		name = b.Names[0]
	}
	var data []byte
	if b.Bytes != nil {
		data = b.Bytes(name)
	}
	if data == nil {
		return notEmbedded(name, b.Names)
	}
	return load(options, out, func(o executor.LoadOptions) (*executor.Program, error) { return executor.Load(data, o) })
}

// load applies the options and registers the program.
func load(options *Options, out *Handle, from func(executor.LoadOptions) (*executor.Program, error)) error {
	if out == nil {
		return errNil
	}
	*out = 0
	o, cache := binary.Load().Options, &cacheErrors{texts: cStrings([]string{""})}
	d, err := apply(&o, options, cache.add)
	if err != nil {
		return err
	}
	p, err := from(o)
	if err != nil {
		d.release()
		return err
	}
	names := p.Methods()
	entry := &program{Program: p, data: d, names: cStrings(names), methods: make([]executor.MethodInfo, len(names)), cache: cache}
	for i, n := range names {
		entry.methods[i], _ = p.Method(n)
	}
	*out = register(entry)
	return nil
}

// apply sets what a caller asks for, and gives the data file, which is counted as used, or nil. failed gets what goes wrong with a
// weight cache.
func apply(o *executor.LoadOptions, options *Options, failed func(error)) (*data, error) {
	if options == nil {
		return nil, nil
	}
	if options.Reserved != 0 || options.MaxMemory < 0 || options.MaxInstructions < 0 || options.Threads < 0 {
		return nil, fail("options: want no negative number, and 0 in reserved")
	}
	o.MaxMemory, o.MaxInstructions = options.MaxMemory, int(options.MaxInstructions)
	o.Seed, o.Threads = options.Seed, int(options.Threads)
	if path := options.WeightCache; path != nil {
		file := binary.Load().WeightCache
		if file == nil {
			return nil, fail("options: there is no weight cache here")
		}
		o.WeightCache = file(cText(path), failed)
	}
	d, err := findData(options.Data)
	if d != nil && err == nil {
		o.NamedData = slices.Concat(o.NamedData, d.entries)
	}
	return d, err
}

// cText is a text that ends with a zero.
func cText(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// CacheError writes the address of the last error of a program's weight cache, which is empty without one, and stays until the
// program is destroyed.
func CacheError(h Handle, out *uintptr) error {
	p, err := find[*program](h, "program")
	if err != nil {
		return err
	}
	p.cache.Lock()
	defer p.cache.Unlock()
	return name(p.cache.texts, uint32(len(p.cache.texts)-1), "error", out)
}

// DestroyProgram frees a program once its instances are destroyed; there are no new ones.
func DestroyProgram(h Handle) {
	if p, ok := remove[*program](h); ok {
		p.Close()
		p.data.release()
	}
}

// MethodCount writes the number of methods of a program.
func MethodCount(h Handle, out *uint32) error {
	p, err := find[*program](h, "program")
	if err != nil {
		return err
	}
	if out == nil {
		return errNil
	}
	*out = uint32(len(p.names))
	return nil
}

// MethodName writes the address of a method's name, which stays until the program is destroyed.
func MethodName(h Handle, i uint32, out *uintptr) error {
	p, err := find[*program](h, "program")
	if err != nil {
		return err
	}
	return name(p.names, i, "method", out)
}

// Describe writes what a method takes.
func Describe(h Handle, method string, out *MethodInfo) error {
	m, err := info(h, method)
	if err != nil {
		return err
	}
	if out == nil {
		return errNil
	}
	*out = MethodInfo{Inputs: uint32(len(m.Inputs)), Outputs: uint32(len(m.Outputs))}
	for _, n := range m.Arenas {
		out.ArenaBytes += n
	}
	return nil
}

// DescribeInput writes what is known of an input before a call.
func DescribeInput(h Handle, method string, i uint32, out *ValueInfo) error {
	m, err := info(h, method)
	if err != nil {
		return err
	}
	return describe(m.Inputs, i, "input", out)
}

// DescribeOutput writes what is known of an output before a call.
func DescribeOutput(h Handle, method string, i uint32, out *ValueInfo) error {
	m, err := info(h, method)
	if err != nil {
		return err
	}
	return describe(m.Outputs, i, "output", out)
}

// info describes a method of a program.
func info(h Handle, method string) (executor.MethodInfo, error) {
	p, err := find[*program](h, "program")
	if err != nil {
		return executor.MethodInfo{}, err
	}
	for _, m := range p.methods {
		if m.Name == method {
			return m, nil
		}
	}
	return executor.MethodInfo{}, noMethod(method, p.Methods())
}

func noMethod(name string, names []string) error {
	return &executor.Error{Code: pte.InvalidArgument, Msg: "no method " + list([]string{name}) + "; there are " + list(names)}
}
