package pt2

import (
	"errors"
	"fmt"
	"math"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// tables are the payloads of one model by fully qualified name.
type tables struct {
	weights, constants map[string]*payload
}

// payload is a tensor in the archive; a broken one says why when it is asked for.
type payload struct {
	meta   tensor.Meta
	weight exir.Weight
	err    error
}

// maxExpansion bounds what a strided view of a small payload may grow to:
// this many bytes for each of the archive's, and minExpansion.
const (
	maxExpansion = 64
	minExpansion = 32 << 20
)

func (a *Archive) tables(model string) (*tables, error) {
	if t, ok := a.weights[model]; ok {
		return t, nil
	}
	weights, err := a.payloads("data/weights/", model, "_weights_config.json")
	if err != nil {
		return nil, err
	}
	constants, err := a.payloads("data/constants/", model, "_constants_config.json")
	if err != nil {
		return nil, err
	}
	t := &tables{weights, constants}
	a.weights[model] = t
	return t, nil
}

// payloads reads a folder's table: torch 2.8 pickled the whole of it, later ones write a config.
func (a *Archive) payloads(folder, model, config string) (map[string]*payload, error) {
	if r, ok := a.records[a.root+folder+model+".pt"]; ok {
		if r.size == 0 {
			return nil, nil
		}
		return a.pickled(r)
	}
	name := a.root + folder + model + config
	if _, ok := a.records[name]; !ok {
		return nil, nil
	}
	text, err := a.read(name)
	if err != nil {
		return nil, err
	}
	var table struct {
		Config map[string]payloadJSON `json:"config"`
	}
	if err := decodeJSON(text, &table); err != nil {
		return nil, fmt.Errorf("parse record %q: %w", name, err)
	}
	out := make(map[string]*payload, len(table.Config))
	for fqn, p := range table.Config {
		out[fqn] = a.payload(a.root+folder, p)
	}
	return out, nil
}

func (a *Archive) payload(folder string, p payloadJSON) *payload {
	r, ok := a.records[folder+p.Path]
	switch {
	case p.Pickle:
		return &payload{err: hinted{"is a pickled tensor subclass, which only Python can read",
			"turn it into plain tensors before torch.export.export; for torchao, with unwrap_tensor_subclass"}}
	case p.Meta == nil:
		return &payload{err: errors.New("is a custom object, not a tensor")}
	case !ok:
		return &payload{err: fmt.Errorf("lies in record %q, which the archive lacks", folder+p.Path)}
	}
	out, err := viewOf(*p.Meta, r, "")
	if err != nil {
		return &payload{err: err}
	}
	return out
}

// viewOf is a tensor over the storage in a record.
func viewOf(m tensorJSON, r record, key string) (*payload, error) {
	dtype, err := dtypeOf(m.DType)
	if err != nil {
		return nil, err
	}
	sizes, err := concrete(m.Sizes)
	if err != nil {
		return nil, err
	}
	strides, err := concrete(m.Strides)
	if err != nil {
		return nil, err
	}
	if m.Layout != stridedLayout || len(strides) != len(sizes) || len(sizes) > tensor.MaxRank {
		return nil, errors.New("has a layout other than strided, or too many dimensions")
	}
	offset, err := concrete([]symJSON{m.Offset})
	if err != nil {
		return nil, err
	}
	p := &payload{
		meta:   tensor.Meta{DType: dtype, Sizes: sizes},
		weight: exir.Weight{Record: r.name, Key: key, Offset: r.offset, Size: r.size, StorageOffset: int(offset[0])},
	}
	for _, s := range strides {
		p.weight.Strides = append(p.weight.Strides, int(s))
	}
	p.meta.DimOrder = dimOrder(&tensor.Shapes{}, sizes, strides)
	return p, checkView(&p.weight, &p.meta)
}

func concrete(in []symJSON) ([]tensor.Dim, error) {
	out := make([]tensor.Dim, len(in))
	for i, s := range in {
		if s.Int == nil || *s.Int < 0 || *s.Int > math.MaxInt32*1024 {
			return nil, errors.New("has a size, stride or offset that is no usable number")
		}
		out[i] = *s.Int
	}
	return out, nil
}

// checkView makes sure that every element lies inside the payload.
func checkView(w *exir.Weight, m *tensor.Meta) error {
	last, numel := float64(w.StorageOffset), 1.0
	for i, s := range m.Sizes {
		last += float64(s-1) * float64(w.Strides[i])
		numel *= float64(s)
	}
	size := m.DType.Size()
	switch {
	case numel == 0:
		return nil
	case w.Size == 0:
		return errors.New("has no bytes: the model was exported with fake weights")
	case w.Size%size != 0:
		return fmt.Errorf("has a payload of %d bytes, no multiple of the element size %d", w.Size, size)
	case (last+1)*float64(size) > float64(w.Size):
		return fmt.Errorf("reaches beyond its payload of %d bytes", w.Size)
	case numel*float64(size) > maxExpansion*float64(w.Size)+minExpansion:
		return fmt.Errorf("expands a payload of %d bytes to %.0f", w.Size, numel*float64(size))
	}
	return nil
}

// find looks a constant up, first in the table where torch puts it.
func (t *tables) find(name string, inWeights bool) (*payload, error) {
	first, second := t.constants, t.weights
	if inWeights {
		first, second = second, first
	}
	p := first[name]
	if p == nil {
		p = second[name]
	}
	if p == nil {
		return nil, fmt.Errorf("constant %q is not in the archive", name)
	}
	if p.err != nil {
		return nil, fmt.Errorf("constant %q %w", name, p.err)
	}
	return p, nil
}

// ReadWeight is the bytes of a weight, dense in the order of m, whose sizes
// must be those of the weight. Bytes that lie so in the file are not copied.
func (a *Archive) ReadWeight(w *exir.Weight, m tensor.Meta) ([]byte, error) {
	if len(w.Strides) != len(m.Sizes) || !m.Static() || m.DType.Size() == 0 || w.StorageOffset < 0 {
		return nil, fmt.Errorf("read weight %q: strides do not fit the sizes", w.Record)
	}
	offset := w.Offset
	if r, ok := a.records[w.Record]; ok && w.Key != "" {
		offset += r.offset
	} else if ok {
		if r.size != w.Size {
			return nil, fmt.Errorf("read weight %q: %d bytes, want %d: the model has changed since its graph was split off",
				w.Record, r.size, w.Size)
		}
		offset = r.offset
	}
	if offset < 0 || w.Size < 0 || offset > len(a.data) || w.Size > len(a.data)-offset {
		return nil, fmt.Errorf("read weight %q: outside of the archive", w.Record)
	}
	for i, s := range w.Strides {
		if s < 0 || m.Sizes[i] < 0 {
			return nil, fmt.Errorf("read weight %q: negative size or stride", w.Record)
		}
	}
	if err := checkView(w, &m); err != nil {
		return nil, fmt.Errorf("read weight %q: %w", w.Record, err)
	}
	if m.Numel() == 0 {
		return []byte{}, nil
	}
	src := a.data[offset : offset+w.Size]
	start := w.StorageOffset * m.DType.Size()
	if denseAs(w.Strides, &m) {
		end := start + m.Nbytes()
		return src[start:end:end], nil
	}
	dst := a.alloc(m.Nbytes())
	gatherStrided(dst, src[start:], w.Strides, &m)
	return dst, nil
}

// denseAs says whether the strides are those of the Meta.
func denseAs(strides []int, m *tensor.Meta) bool {
	for i, s := range m.Strides(nil) {
		if strides[i] != s && m.Sizes[i] != 1 {
			return false
		}
	}
	return true
}

func (a *Archive) alloc(n int) []byte {
	if a.Alloc != nil {
		return a.Alloc(n)
	}
	return make([]byte, n)
}

// gatherStrided copies elements into the order of m, one by one.
func gatherStrided(dst, src []byte, strides []int, m *tensor.Meta) {
	size, rank := m.DType.Size(), m.Rank()
	order := make([]int, rank)
	for i := range order {
		order[i] = i
		if m.DimOrder != nil {
			order[i] = int(m.DimOrder[i])
		}
	}
	index := make([]int64, rank)
	at := 0
	for {
		dst = dst[copy(dst, src[at:at+size]):]
		k := rank - 1
		for ; k >= 0; k-- {
			d := order[k]
			index[k]++
			at += strides[d] * size
			if index[k] < m.Sizes[d] {
				break
			}
			at -= int(index[k]) * strides[d] * size
			index[k] = 0
		}
		if k < 0 {
			return
		}
	}
}
