package pt2

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// pickled reads a nested torch.save archive: a dict from names to tensors,
// whose storages stay where they are.
func (a *Archive) pickled(r record) (map[string]*payload, error) {
	records, err := readZip(a.slice(r), r.offset)
	if err != nil {
		return nil, fmt.Errorf("open record %q: %w", r.name, err)
	}
	root := ""
	for name := range records {
		if path.Base(name) == "data.pkl" && (root == "" || len(name) < len(root)) {
			root = strings.TrimSuffix(name, "data.pkl") + "\x00"
		}
	}
	if root == "" {
		return nil, fmt.Errorf("open record %q: it holds no data.pkl", r.name)
	}
	root = strings.TrimSuffix(root, "\x00")
	pickle := records[root+"data.pkl"]
	if crcOf(a.slice(pickle)) != pickle.crc {
		return nil, fmt.Errorf("open record %q: data.pkl is damaged: wrong checksum", r.name)
	}
	p := &unpickler{in: a.slice(pickle), memo: map[uint32]any{}, storage: func(key string) (record, bool) {
		s, ok := records[root+"data/"+key]
		s.name, s.offset = r.name, s.offset-r.offset
		return s, ok
	}}
	v, err := p.run()
	if err != nil {
		return nil, fmt.Errorf("unpickle record %q at byte %d: %w", r.name, p.pos, err)
	}
	return tensorDict(v)
}

func tensorDict(v any) (map[string]*payload, error) {
	d, ok := v.(*dict)
	if !ok {
		return nil, errors.New("unpickle weights: not a dict of tensors")
	}
	out := map[string]*payload{}
	for i := 0; i+1 < len(d.items); i += 2 {
		name, ok := d.items[i].(string)
		if !ok {
			return nil, errors.New("unpickle weights: a key is no text")
		}
		p, ok := d.items[i+1].(*payload)
		if !ok {
			p = &payload{err: errors.New("is a custom object, not a tensor")}
		}
		out[name] = p
	}
	return out, nil
}

// The Python objects that may stand in a pickle; the others are nil, bool,
// int64, float64, string, tuple (also for a torch.Size) and *payload.
type (
	tuple  []any
	list   struct{ items []any }
	dict   struct{ items []any } // key, value, key, value, …
	global string
	mark   struct{}
	// storage is what a persistent id refers to.
	storage struct {
		record
		key   string
		dtype int // the archive's number; 0 for an untyped storage
	}
)

// storages maps the legacy storage classes to the archive's element types.
var storages = map[global]int{
	"torch.ByteStorage": 1, "torch.CharStorage": 2, "torch.ShortStorage": 3, "torch.IntStorage": 4, "torch.LongStorage": 5,
	"torch.HalfStorage": 6, "torch.FloatStorage": 7, "torch.DoubleStorage": 8, "torch.BoolStorage": 12,
	"torch.BFloat16Storage": 13, "torch.storage.UntypedStorage": 0,
}

// pickledTypes are the element types that are globals in a pickle.
var pickledTypes = map[global]int{
	"torch.uint8": 1, "torch.int8": 2, "torch.int16": 3, "torch.int32": 4, "torch.int64": 5, "torch.float16": 6, "torch.float32": 7,
	"torch.float64": 8, "torch.bool": 12, "torch.bfloat16": 13, "torch.uint16": 28, "torch.uint32": 34, "torch.uint64": 35,
}

// otherGlobals are the functions and classes that reduce knows.
var otherGlobals = map[global]bool{
	"torch._utils._rebuild_tensor_v2": true, "torch._utils._rebuild_tensor_v3": true,
	"torch._utils._rebuild_parameter": true, "torch._utils._rebuild_parameter_with_state": true,
	"collections.OrderedDict": true, "torch.Size": true, "torch.device": true,
}

func allowed(g global) bool {
	_, isStorage := storages[g]
	_, isType := pickledTypes[g]
	return isStorage || isType || otherGlobals[g]
}

// reduce calls a global.
func (p *unpickler) reduce(f, args any) (any, error) {
	g, ok := f.(global)
	a, isTuple := args.(tuple)
	if !ok || !isTuple {
		return nil, errors.New("call of something that is no function")
	}
	switch {
	case g == "collections.OrderedDict" && len(a) == 0:
		return &dict{}, nil
	case g == "torch.Size" && len(a) == 1:
		return a[0], nil
	case g == "torch.device":
		return nil, nil
	case strings.HasPrefix(string(g), "torch._utils._rebuild_parameter") && len(a) >= 1:
		return a[0], nil
	case g == "torch._utils._rebuild_tensor_v2" && len(a) >= 4:
		return rebuildTensor(a, 0)
	case g == "torch._utils._rebuild_tensor_v3" && len(a) >= 7:
		dtype, _ := a[6].(global)
		return rebuildTensor(a, pickledTypes[dtype])
	}
	return nil, fmt.Errorf("call of %s with %d arguments", g, len(a))
}

// rebuildTensor is torch._utils._rebuild_tensor_v2(storage, offset, size, stride, …).
func rebuildTensor(a tuple, dtype int) (any, error) {
	s, ok := a[0].(*storage)
	if !ok {
		return nil, errors.New("tensor without a storage")
	}
	if dtype == 0 {
		dtype = s.dtype
	}
	offset, err := symbols(tuple{a[1]})
	if err != nil {
		return nil, err
	}
	m := tensorJSON{DType: dtype, Layout: stridedLayout, Offset: offset[0]}
	if m.Sizes, err = symbols(a[2]); err != nil {
		return nil, err
	}
	if m.Strides, err = symbols(a[3]); err != nil {
		return nil, err
	}
	p, err := viewOf(m, s.record, s.key)
	if err != nil {
		return &payload{err: err}, nil
	}
	return p, nil
}

func symbols(v any) ([]symJSON, error) {
	t, ok := v.(tuple)
	if !ok || len(t) > tensor.MaxRank {
		return nil, errors.New("sizes or strides are no tuple, or too long")
	}
	out := make([]symJSON, len(t))
	for i, x := range t {
		n, ok := x.(int64)
		if !ok {
			return nil, errors.New("a size, stride or offset is no integer")
		}
		out[i].Int = &n
	}
	return out, nil
}

// persistent is the storage of ('storage', class, key, location, numel).
func (p *unpickler) persistent(id any) (any, error) {
	t, ok := id.(tuple)
	if !ok || len(t) < 3 {
		return nil, errors.New("unknown persistent id")
	}
	class, _ := t[1].(global)
	dtype, known := storages[class]
	key, isText := t[2].(string)
	if !known || !isText {
		return nil, fmt.Errorf("storage of class %q is not supported", class)
	}
	r, ok := p.storage(key)
	if !ok {
		return nil, fmt.Errorf("storage %q is not in the archive", key)
	}
	return &storage{r, key, dtype}, nil
}
