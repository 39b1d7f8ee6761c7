// Package executor loads ExecuTorch programs and runs their methods.
//
// A Program is what a file says, checked, with its packed weights; it is immutable and safe to share. An
// Instance has the memory and the state of one user of it; its methods share them.
package executor

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/backend"
	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/parallel"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// Limits where LoadOptions has 0.
const (
	DefaultMaxMemory       = 4 << 30
	DefaultMaxInstructions = 10_000_000
)

// LoadOptions say what a program may use.
type LoadOptions struct {
	// Kernels are the kernels that may be used, by instructions and by backends; nobody may change the list afterwards.
	Kernels []*op.Kernel
	// Backends may take the delegated parts.
	Backends []backend.Backend
	// BackendOptions are run-time options by backend id.
	BackendOptions map[string][]backend.Option
	// NamedData is what data files hold that belong to the program: the result of ptd.Read. Nobody may change its bytes
	// before Close.
	NamedData []pte.NamedData
	// Tracer gets the delegates' events, and the executor's if it is an EventTracer; nil for none.
	Tracer backend.EventTracer
	// MaxMemory is the most bytes that an instance and the packed constants of the program may take together; 0 means
	// DefaultMaxMemory. The file's own bytes do not count.
	MaxMemory int64
	// MaxInstructions is how many instructions one Run may take; 0 means DefaultMaxInstructions.
	MaxInstructions int
	// Threads is how many threads kernels use, the caller's included; 0 or less means one for each CPU.
	Threads int
	// Alloc makes the memory of arenas, of tensors outside of them, and of temporaries, but for those of steps of delegates: n bytes
	// of any content, at a multiple of the element size of what is n bytes long. It has to stay until the program is closed. Nil means Go's
	// heap, at multiples of 64, and the system for large arenas, which it takes back when the instance is closed.
	Alloc func(n int) []byte
	// Seed starts the random numbers of every instance.
	Seed uint64
	// WeightCache keeps packed constants for the next load; nil for none. A load whose Tracer gets intermediate values, which
	// packs other constants, goes without.
	WeightCache WeightCache
}

// Program is a loaded file. It is safe for concurrent use.
type Program struct {
	file    *pte.Program
	methods []*method
	opts    LoadOptions
	table   *op.Table
	pool    *parallel.Pool
	tier    kernel.Tier
	tracer  EventTracer // opts.Tracer, if it is one
	mapped  mapping
	named   map[string]*pte.NamedData // the file's and opts.NamedData
	users   atomic.Int64              // the program itself until Close, and its instances
	closing sync.Once

	making  sync.Mutex // held while an instance is made, since what it packs is shared
	packing error      // why packing failed
	spoiled bool       // making an instance has failed

	mu        sync.Mutex
	packs     map[packKey][]byte
	numbers   map[numbersKey][]float32 // scales and zero points of weights
	packed    int64                    // bytes of constants that were packed or copied
	constants constants
	weights   Weights           // nil without a WeightCache
	fills     []backend.Packing // what is left to pack before the program or an instance is complete
	shared    map[string]*sharedEntry

	// While the program is loaded: the bytes of the arenas; constants that instructions give, and those that others than
	// these read by their first byte, and by that of what they are made of; memory that they have left; and whether such instructions are left alone.
	arenas   int64
	folds    []*folded
	foldAt   map[*byte]*folded
	foldsOf  map[*byte][]*folded
	spare    []chunk
	unfolded bool
	outlined bool // all delegates run as such
}

// sharedEntry is what backends share under one key.
type sharedEntry struct {
	once  sync.Once
	value any
	err   error
}

// packKey is a packed constant: where its bytes lie, the tensor that they are, the layout, and what else is packed with it. Constants
// of the same bytes lie in one place, whatever their sizes are.
type packKey struct {
	data         *byte
	dtype        tensor.ScalarType
	sizes, order string
	layout       string
	from         [2]*byte
}

// numbersKey is a constant whose elements are wanted as float32, or a number.
type numbersKey struct {
	data   *byte
	bytes  int
	dtype  tensor.ScalarType
	number float32
}

// numbersOf is what list gives for this key when it is asked for first, so that what is packed with it is the same for all methods.
func (p *Program) numbersOf(key numbersKey, list func() []float32) []float32 {
	known, ok := p.numbers[key]
	if !ok {
		known = list()
		p.numbers[key] = known
	}
	return known
}

// mapping is the bytes of a file; release and unmap are nil unless they are mapped.
type mapping struct {
	data    []byte
	release func([]byte)
	unmap   func()
}

func (m *mapping) close() {
	if m.unmap != nil {
		m.unmap()
	}
	*m = mapping{}
}

// Load makes a program of the bytes of a file. They must not change before Close.
func Load(src []byte, opts LoadOptions) (*Program, error) { return load(src, mapping{}, opts) }

// load is Load of bytes that mapped has, if any are mapped.
func load(src []byte, mapped mapping, opts LoadOptions) (*Program, error) {
	file, err := pte.Read(src)
	if err != nil {
		return nil, err
	}
	if err := kernel.TierError(); err != nil {
		return nil, fail(pte.InvalidArgument, err.Error())
	}
	opts.setDefaults()
	p := &Program{file: file, opts: opts, tier: kernel.Best(), table: op.TableOf(opts.Kernels), shared: make(map[string]*sharedEntry),
		named: make(map[string]*pte.NamedData), mapped: mapped}
	p.tracer, _ = opts.Tracer.(EventTracer)
	if err := p.mergeNamed(file.NamedData, opts.NamedData); err != nil {
		return nil, err
	}
	p.pool = parallel.New(opts.Threads)
	p.openWeights()
	err = p.loadMethods(len(src))
	if CodeOf(err) == pte.MemoryAllocationFailed && slices.ContainsFunc(p.methods, (*method).hasInlined) { // delegates share what they need between
		p.outlined = true
		p.closeWeights()
		p.openWeights()
		err = p.loadMethods(len(src))
	}
	if err != nil && p.folds != nil { // the error, if it is an instruction's, is that of Run
		p.unfolded = true
		p.closeWeights()
		p.openWeights()
		err = p.loadMethods(len(src))
	}
	if err != nil {
		p.free()
		return nil, err
	}
	p.users.Store(1)
	return p, nil
}

// mergeNamed collects named data of several files; a key stands for one thing.
func (p *Program) mergeNamed(lists ...[]pte.NamedData) error {
	for _, list := range lists {
		for i := range list {
			d := &list[i]
			if p.named[d.Key] != nil {
				return fail(pte.InvalidArgument, "named data ", strconv.Quote(d.Key), " is in more than one of the program and its data files")
			}
			p.named[d.Key] = d
		}
	}
	return nil
}

// namedBytes is the data under key, or nil.
func (p *Program) namedBytes(key string) []byte {
	if d := p.named[key]; d != nil {
		return d.Data
	}
	return nil
}

func (o *LoadOptions) setDefaults() {
	if o.MaxMemory <= 0 {
		o.MaxMemory = DefaultMaxMemory
	}
	o.MaxMemory = min(o.MaxMemory, math.MaxInt)
	if o.MaxInstructions <= 0 {
		o.MaxInstructions = DefaultMaxInstructions
	}
}

// LoadFile maps a file and loads it. Truncating the file while the program is in use ends the process;
// Load of its bytes avoids that.
func LoadFile(path string, opts LoadOptions) (*Program, error) {
	mapped, err := mapFile(path)
	if err != nil {
		return nil, wrap(pte.AccessFailed, "load "+path, err)
	}
	p, err := load(mapped.data, mapped, opts)
	if err != nil {
		mapped.close()
		return nil, err
	}
	return p, nil
}

// MapFile maps a file for reading, such as a data file for ptd.Read, until unmap is called. Truncating the file before
// that ends the process.
func MapFile(path string) (data []byte, unmap func(), err error) {
	mapped, err := mapFile(path)
	if err != nil {
		return nil, nil, wrap(pte.AccessFailed, "map "+path, err)
	}
	return mapped.data, mapped.close, nil
}

// File is what the program was loaded from; nobody may change it.
func (p *Program) File() *pte.Program { return p.file }

// Close frees the program once its last instance is closed; there are no new instances after it.
func (p *Program) Close() { p.closing.Do(p.leave) }

// enter counts a user; false after the last one has left.
func (p *Program) enter() bool {
	for {
		n := p.users.Load()
		if n == 0 {
			return false
		}
		if p.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (p *Program) leave() {
	if p.users.Add(-1) == 0 {
		p.free()
		p.mapped.close()
	}
}

// free gives back what a program holds, the file aside.
func (p *Program) free() {
	p.pool.Close()
	p.constants.close()
	p.closeWeights()
}

// loadMethods builds all methods of a file of n bytes, lists every missing kernel and backend in one error, and sums the memory.
func (p *Program) loadMethods(n int) error {
	var missing missingList
	p.reset(n)
	for _, plan := range p.file.Plans {
		m := &method{plan: plan, prog: p}
		if err := m.inline(); err != nil {
			return wrap(pte.InvalidProgram, "load method "+plan.Name, err)
		}
		m.operators = operatorNames(m.plan)
		if err := m.loadValues(); err != nil {
			return wrap(pte.InvalidProgram, "load method "+plan.Name, err)
		}
		p.methods = append(p.methods, m)
	}
	p.shareArenas()
	if err := p.sumMemory(); err != nil {
		return err
	}
	for _, m := range p.methods {
		if err := m.loadSteps(&missing); err != nil {
			return wrap(pte.InvalidProgram, "load method "+m.plan.Name, err)
		}
	}
	if err := missing.err(); err != nil {
		return err
	}
	p.packs, p.numbers = nil, nil
	p.keepFolded()
	if err := p.fill(); err != nil {
		return err
	}
	p.dropFolded()
	return nil
}

// reset begins to load a file of n bytes.
func (p *Program) reset(n int) {
	p.clearFolded()
	p.constants.close()
	p.methods, p.fills, p.packing, p.packed = nil, nil, nil, 0
	p.packs, p.numbers, p.constants = make(map[packKey][]byte), make(map[numbersKey][]float32), newConstants(n)
	p.foldAt, p.foldsOf = make(map[*byte]*folded), make(map[*byte][]*folded)
}

// fill packs the constants. After an error of it the program has no instances.
func (p *Program) fill() (err error) {
	defer func() {
		if r := recover(); r != nil {
			p.packing = recovered("pack constants", r)
		}
		err = p.packing
	}()
	p.mu.Lock()
	p.constants.prepare()
	jobs := p.fills
	p.fills = nil
	p.mu.Unlock()
	packAll(p.pool, jobs)
	return nil
}

// sumMemory adds up what an instance takes and holds it against MaxMemory.
func (p *Program) sumMemory() error {
	seen, total := map[int]bool{}, p.packed
	for _, m := range p.methods {
		for i, n := range m.plan.NonConstBufferSizes {
			if m.sharedArena[i] && seen[i] {
				continue
			}
			seen[i] = true
			if n < 0 || n > p.opts.MaxMemory-total {
				return fail(pte.MemoryAllocationFailed, "load method ", m.plan.Name, ": arenas need ", itoa(n),
					" bytes and more, the limit is ", itoa(p.opts.MaxMemory))
			}
			total += n
		}
	}
	p.arenas = total - p.packed
	return nil
}

// missingList collects what a program needs and does not have.
type missingList struct {
	ops, backends, unavailable []string
	seen                       map[string]bool
}

func (l *missingList) add(list *[]string, name string) {
	if l.seen == nil {
		l.seen = make(map[string]bool)
	}
	if !l.seen[name] {
		l.seen[name] = true
		*list = append(*list, name)
	}
}

func (l *missingList) err() error {
	code := pte.NotFound
	var parts []string
	if len(l.ops) > 0 {
		code = pte.OperatorMissing
		parts = append(parts, "no kernel for "+strings.Join(l.ops, ", "))
	}
	for _, name := range l.backends {
		parts = append(parts, "backend "+name+" is not linked in")
	}
	for _, name := range l.unavailable {
		parts = append(parts, "backend "+name+" is not available on this machine")
	}
	if len(parts) == 0 {
		return nil
	}
	return &Error{Code: code, Msg: "load program: " + strings.Join(parts, "; ")}
}

// alloc is n bytes as LoadOptions.Alloc says.
func (p *Program) alloc(n int) []byte {
	if p.opts.Alloc != nil {
		return p.opts.Alloc(n)
	}
	return op.AlignedBytes(n)
}

// charge counts n bytes of constants that were made from the file's.
func (p *Program) charge(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.opts.MaxMemory-p.packed {
		return fail(pte.MemoryAllocationFailed, "packed constants exceed the limit of ", itoa(p.opts.MaxMemory), " bytes")
	}
	p.packed += n
	return nil
}

// packOf is op.Options.Pack: packed constants are shared by the methods and instances of a program. It panics with an error
// where they exceed the limit, which counts what they become.
func (p *Program) packOf(t *tensor.Tensor, how op.Packing) []byte {
	if len(t.Data) == 0 {
		b := op.AlignedBytes(how.Bytes)
		how.Fill(b)
		return b
	}
	key := packKey{&t.Data[0], t.DType, op.SizesText(t.Sizes), string(t.DimOrder), how.Layout, [2]*byte{}}
	from := [][]byte{t.Data}
	for i, b := range how.From {
		if key.from[i] = unsafe.SliceData(b); len(b) > 0 {
			from = append(from, b)
		}
	}
	if b, ok := p.packs[key]; ok {
		return b
	}
	if err := p.charge(int64(how.Bytes)); err != nil {
		panic(err)
	}
	name, c := layoutKey(t, &how), p.foldAt[&t.Data[0]]
	if c != nil { // whose bytes are not known yet
		name = ""
		c.users.Add(1)
	}
	b, packed := p.take(how.Bytes, name, from)
	p.packs[key] = b
	fill := func() {
		if c == nil {
			how.Fill(b)
			p.release(t.Data)
			return
		}
		c.compute()
		how.Fill(b)
		c.drop()
	}
	switch {
	case packed:
	case how.Now:
		fill()
	default:
		p.fills = append(p.fills, backend.Packing{Bytes: how.Bytes, Into: b, Run: fill})
	}
	return b
}

// backendConstants is backend.InitContext.Constants.
func (p *Program) backendConstants(n int, key string, from ...[]byte) (b []byte, packed bool, err error) {
	if err := p.charge(int64(n)); err != nil {
		return nil, false, err
	}
	b, packed = p.take(n, key, from)
	return b, packed, nil
}

// later is backend.InitContext.Pack.
func (p *Program) later(jobs []backend.Packing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fills = append(p.fills, jobs...)
}

// release is backend.InitContext.Release. Bytes that lie elsewhere than in the mapped file stay.
func (p *Program) release(b []byte) {
	if p.mapped.release == nil || len(b) == 0 {
		return
	}
	file, at := uintptr(unsafe.Pointer(unsafe.SliceData(p.mapped.data))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if at >= file && at-file+uintptr(len(b)) <= uintptr(len(p.mapped.data)) {
		p.mapped.release(b)
	}
}

// errSharedPanic stays in an entry whose maker panicked.
var errSharedPanic = errors.New("share packed data: making it failed before")

// share is backend.InitContext.Share. A key is made once, and an error of that is final.
func (p *Program) share(key string, make func() (any, error)) (any, error) {
	p.mu.Lock()
	e := p.shared[key]
	if e == nil {
		e = new(sharedEntry)
		p.shared[key] = e
	}
	p.mu.Unlock()
	e.once.Do(func() {
		e.err = errSharedPanic
		e.value, e.err = make()
	})
	return e.value, e.err
}
