package functionalize

import (
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/tensor"
)

// updateCache writes the rows of a value into a cache, from a place on or where indices say, as llama::update_cache and
// update_cache_with_indices do.
func updateCache(s *state, n *exir.Node) error {
	val, cache := s.arg(n.Args[0]).Value, n.Args[1].Value
	var err error
	if len(n.Args) > 3 {
		batch := val.Spec.Sizes[0]
		first := s.emit("aten::unsqueeze_copy", longs(batch, 1), value(s.upTo(batch)), integer(1))
		err = s.putRows(cache, val, value(first), s.arg(n.Args[3]))
	} else {
		err = s.putRowsFrom(cache, val, s.arg(n.Args[2]))
	}
	if err != nil {
		return err
	}
	if out := n.Outs[0]; out != nil { // whose element nobody knows
		s.copied(out, s.emit("aten::full", out.Spec, exir.Arg{Kind: exir.ArgList, List: []exir.Arg{integer(1)}}, integer(0)))
	}
	return nil
}

// sdpaWithKvCache makes of llama::sdpa_with_kv_cache what it stands for: keys and values are written into their caches, which
// llama::custom_sdpa reads.
func sdpaWithKvCache(s *state, n *exir.Node) error {
	args := make([]exir.Arg, len(n.Args))
	for i, a := range n.Args {
		args[i] = s.arg(a)
	}
	caches, start := [2]*exir.Value{n.Args[3].Value, n.Args[4].Value}, args[5]
	for i, cache := range caches {
		if err := s.putRowsFrom(cache, args[1+i].Value, start); err != nil {
			return err
		}
	}
	out := n.Outs[0]
	s.copied(out, s.emit("llama::custom_sdpa", out.Spec, append([]exir.Arg{args[0], value(s.read(caches[0])), value(s.read(caches[1])), start}, args[7:]...)...))
	return nil
}

// putRowsFrom writes the rows of val into a cache from start on.
func (s *state) putRowsFrom(cache, val *exir.Value, start exir.Arg) error {
	rows := val.Spec.Sizes[1]
	return s.putRows(cache, val, exir.Arg{}, value(s.emit("aten::add.Scalar", longs(rows), value(s.upTo(rows)), start)))
}

// putRows writes the rows of val into those of a cache that indices name: by index_put, which every runtime has and which ours does in the
// cache itself. A place that is negative counts from the end there.
func (s *state) putRows(cache, val *exir.Value, at ...exir.Arg) error {
	list := exir.Arg{Kind: exir.ArgList, List: at}
	return s.write(cache, s.emit("aten::index_put", cache.Spec, value(s.read(cache)), list, value(val)))
}

// longs is a tensor of int64.
func longs(sizes ...tensor.Dim) tensor.Meta { return tensor.Meta{DType: tensor.Long, Sizes: sizes} }

// upTo are the numbers below n.
func (s *state) upTo(n tensor.Dim) *exir.Value {
	return s.emit("aten::arange", longs(n), integer(int64(n)))
}
