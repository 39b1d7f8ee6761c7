package exir

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

// CallDelegate is the operator of a delegated part of a graph: its first argument is the LoweredModule, the others are
// the inputs of the module in their order.
var CallDelegate = &Schema{Name: "higher_order::executorch_call_delegate", Kind: "hop"}

// LoweredModule is a part of a graph that a backend took.
type LoweredModule struct {
	// Name is unique in the program: "lowered_module_0".
	Name string
	// BackendID is the backend's name in the .pte, such as "XnnpackBackend".
	BackendID string
	// CompileSpecs go into the .pte, byte for byte.
	CompileSpecs []pte.CompileSpec
	// Program is what the backend got: one method, constants first among its inputs.
	Program *EdgeProgram
	// Processed is what the backend made of it.
	Processed Blob
	// DebugHandles maps the backend's own ids, in decimal if they are numbers, to the debug handles of nodes.
	DebugHandles map[string][]int
	// ArenaPadding is how many bytes the backend may read past the end of an arena.
	ArenaPadding int
}

// Blob is bytes with places for the keys of named data that are known only when packing.
type Blob struct {
	Bytes  []byte
	Places []KeyPlace
}

// KeyPlace is where a key of KeyLength bytes goes.
type KeyPlace struct {
	// Offset into the blob's bytes.
	Offset int
	// Key is the placeholder there.
	Key string
}

// NamedData is an entry of the program's named data.
type NamedData struct {
	// Key is the entry's name, or, where ByContent says so, a placeholder for the SHA-256 of the content in hex.
	Key       string
	ByContent bool
	Content   *Constant
	// Alignment in the file, in bytes.
	Alignment int
	// ExternalTag names the .ptd file that holds the entry; "" is the .pte.
	ExternalTag string
}

// KeyLength is the length of a content key and of its placeholder.
const KeyLength = 2 * sha256.Size

// KeyPrefix begins every placeholder of a content key; no content key has it.
const KeyPrefix = "pte-content-key:"

// ContentKey is the name of named data with this content: its SHA-256 in hex, as XNNPACK's ahead-of-time half names it.
func ContentKey(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// PlaceholderKey stands for the content key of c until c is evaluated. Equal expressions have equal placeholders.
func (c *Constant) PlaceholderKey() string {
	f := fingerprinter{done: map[*Constant][sha256.Size]byte{}}
	sum := f.constant(c)
	return (KeyPrefix + hex.EncodeToString(sum[:]))[:KeyLength]
}

// fingerprinter hashes expressions, each shared part of one once.
type fingerprinter struct {
	done map[*Constant][sha256.Size]byte
}

func (f *fingerprinter) constant(c *Constant) [sha256.Size]byte {
	if sum, ok := f.done[c]; ok {
		return sum
	}
	h := sha256.New()
	numbers(h, int64(c.Meta.DType), int64(len(c.Meta.Sizes)))
	numbers(h, c.Meta.Sizes...)
	text(h, string(c.Meta.DimOrder))
	switch {
	case c.Node != nil:
		text(h, c.Node.Op.Name)
		numbers(h, int64(c.Node.Out), int64(len(c.Node.Args)))
		f.args(h, c.Node.Args)
	case c.Weight != nil:
		w := c.Weight
		text(h, w.Model)
		text(h, w.Record)
		text(h, w.Key)
		numbers(h, int64(w.Offset), int64(w.Size), int64(w.StorageOffset), int64(len(w.Strides)))
		for _, s := range w.Strides {
			numbers(h, int64(s))
		}
	default:
		text(h, string(c.Data))
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	f.done[c] = sum
	return sum
}

func (f *fingerprinter) args(h hash.Hash, args []Arg) {
	for i := range args {
		a := &args[i]
		numbers(h, int64(a.Kind), a.Int, int64(math.Float64bits(a.Float)), int64(len(a.List)))
		text(h, a.Str)
		if a.Kind == ArgValue {
			sum := f.constant(a.Value.Const)
			h.Write(sum[:])
		}
		f.args(h, a.List)
	}
}

func numbers(h hash.Hash, ns ...int64) {
	var buf [8]byte
	for _, n := range ns {
		binary.LittleEndian.PutUint64(buf[:], uint64(n))
		h.Write(buf[:])
	}
}

func text(h hash.Hash, s string) {
	numbers(h, int64(len(s)))
	h.Write([]byte(s))
}
