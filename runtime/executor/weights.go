package executor

import (
	"unsafe"

	"github.com/rules-pte/rules_pte/runtime/kernel"
	"github.com/rules-pte/rules_pte/runtime/op"
	"github.com/rules-pte/rules_pte/runtime/pte"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// WeightCache keeps packed constants from one load of a program to the next; weightcache.File is one in a file. Load calls it
// once, with the instruction set that they are packed for, or once more if it has to begin anew.
type WeightCache func(kernel.Tier) Weights

// Weights are the packed constants of one load. One goroutine at a time calls the methods, while it holds locks of the program:
// they call nothing of the program.
type Weights interface {
	// Take gives n bytes at a multiple of 64. If they are packed, they are what an earlier load wrote to what it took in
	// its place, under the same key and from constants with the same bytes, and nobody writes them. Otherwise they come from
	// alloc, zeros for the program to write.
	Take(w PackedWeight, alloc func(n int) []byte) (b []byte, packed bool)
	// Keep says that everything that was taken is written.
	Keep()
	// Close says that nobody reads what was taken any more.
	Close()
}

// PackedWeight says what is written to a packed constant.
type PackedWeight struct {
	Bytes int
	// Key names the layout and what is known of the constants without reading them, From is the bytes of others.
	Key  string
	From [][]byte
}

func (p *Program) openWeights() {
	if p.opts.WeightCache != nil && !p.tracesIntermediates() {
		p.weights = p.opts.WeightCache(p.tier)
	}
}

func (p *Program) closeWeights() {
	if p.weights != nil {
		p.weights.Close()
		p.weights = nil
	}
}

// take is n bytes for what key says is made of the constants from.
func (p *Program) take(n int, key string, from [][]byte) (b []byte, packed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.weights == nil || key == "" {
		return p.constants.take(n), false
	}
	w := PackedWeight{Bytes: n, Key: key}
	for _, c := range from {
		if name := p.contentName(c); name != "" {
			w.Key += " " + name + "+" + itoa(len(c))
		} else {
			w.From = append(w.From, c)
		}
	}
	return p.weights.Take(w, p.constants.take)
}

// contentName is the key of the named data that begins with b, if that is the SHA-256 of its content, as those of XNNPACK are.
func (p *Program) contentName(b []byte) string {
	for _, list := range [][]pte.NamedData{p.file.NamedData, p.opts.NamedData} {
		for i := range list {
			if d := &list[i]; len(b) > 0 && unsafe.SliceData(d.Data) == unsafe.SliceData(b) && isSHA256(d.Key) {
				return d.Key
			}
		}
	}
	return ""
}

func isSHA256(key string) bool {
	for _, c := range []byte(key) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(key) == 64
}

// layoutKey names what how makes of t.
func layoutKey(t *tensor.Tensor, how *op.Packing) string {
	key := how.Layout + " " + t.DType.String() + op.SizesText(t.Sizes)
	for _, d := range t.DimOrder {
		key += " " + itoa(int(d))
	}
	return key
}

// keepWeights lets the cache keep what was packed, unless making an instance has failed before: what was taken for that may never
// have been written.
func (p *Program) keepWeights() {
	if p.weights != nil && !p.spoiled {
		p.weights.Keep()
	}
}
