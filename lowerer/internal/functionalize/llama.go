package functionalize

import (
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// updateCache writes the rows of a value into a cache, from a place on or where indices say, as llama::update_cache and
// update_cache_with_indices do: by index_put, which every runtime has and which ours does in the cache itself. A place that is negative counts from the end there.
func updateCache(s *state, n *exir.Node) error {
	val, cache := s.arg(n.Args[0]).Value, n.Args[1].Value
	long := func(sizes ...tensor.Dim) tensor.Meta { return tensor.Meta{DType: tensor.Long, Sizes: sizes} }
	upTo := func(n tensor.Dim) *exir.Value { return s.emit("aten::arange", long(n), integer(int64(n))) }
	batch, rows := val.Spec.Sizes[0], val.Spec.Sizes[1]
	var at [2]exir.Arg
	if len(n.Args) > 3 {
		at[0] = value(s.emit("aten::unsqueeze_copy", long(batch, 1), value(upTo(batch)), integer(1)))
		at[1] = s.arg(n.Args[3])
	} else {
		at[1] = value(s.emit("aten::add.Scalar", long(rows), value(upTo(rows)), s.arg(n.Args[2])))
	}
	list := exir.Arg{Kind: exir.ArgList, List: at[:]}
	if err := s.write(cache, s.emit("aten::index_put", cache.Spec, value(s.read(cache)), list, value(val))); err != nil {
		return err
	}
	if out := n.Outs[0]; out != nil { // whose element nobody knows
		s.copied(out, s.emit("aten::full", out.Spec, exir.Arg{Kind: exir.ArgList, List: []exir.Arg{integer(1)}}, integer(0)))
	}
	return nil
}
