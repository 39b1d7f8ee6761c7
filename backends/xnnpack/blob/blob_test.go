package blob

import (
	"math"
	"math/rand/v2"

	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sample is y = clamp(x·W + b, 0, ∞) with W quantized by channel, and its transpose.
func sample() *Graph {
	inf := float32(math.Inf(1))
	node := func(n Node) Node {
		if !n.Bounded {
			n.Min, n.Max = -inf, inf
		}
		return n
	}
	return &Graph{
		Identifier: XN01, Version: "0", NumExterns: 2, Inputs: []uint32{0}, Outputs: []uint32{4},
		Values: []Value{
			{ID: 0, Type: FP32, Dims: []uint32{1, 3}, External: 0, Flags: ExternalInput},
			{ID: 1, Type: QCInt8, Dims: []uint32{2, 3}, Constant: 1, External: InvalidID,
				Quant: Quant{Kind: PerChannel, Scales: []float32{0.5, 0.25}, NumScales: 2}},
			{ID: 2, Type: FP32, Dims: []uint32{2}, Constant: 2, External: InvalidID},
			{ID: 3, Type: QInt8, Dims: []uint32{1, 2}, External: InvalidID, Quant: Quant{Kind: PerTensor, Scale: 1, ZeroPoint: -3}},
			{ID: 4, Type: QInt8, Dims: []uint32{2, 1}, External: 1, Flags: ExternalOutput, Quant: Quant{Kind: PerTensor, Scale: 1, ZeroPoint: -3}},
			{ID: 5, Type: QBInt4, Dims: []uint32{2, 6}, Constant: 3, External: InvalidID,
				Quant: Quant{Kind: PerGroup, GroupSize: 3, ScaleConstant: 2, NumScales: 4}},
			{ID: 6, Type: QDInt8, Dims: []uint32{4, 6}, External: InvalidID, Quant: Quant{Kind: PerToken, NonbatchDims: 1}},
		},
		Nodes: []Node{
			node(Node{Type: FullyConnected, DebugHandle: 7, Inputs: []uint32{0, 1, InvalidID}, Outputs: []uint32{3}, Bounded: true, Max: inf}),
			node(Node{Type: StaticTranspose, Inputs: []uint32{3}, Outputs: []uint32{4}, Params: []uint32{2}, Lists: [][]uint32{{1, 0}}}),
		},
		Constants: []Constant{{}, {Size: 6, Data: []byte{1, 2, 3, 4, 5, 6}}, {Key: "bias", Size: 8}, {Size: 6, Data: make([]byte, 6)}},
	}
}

func TestReadGivesWhatWasWritten(t *testing.T) {
	for _, id := range []string{XN00, XN01} {
		want := sample()
		want.Identifier = id
		b, err := Write(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: %s", id, d)
		}
		if again, _ := Write(got); string(again) != string(b) {
			t.Errorf("%s: written again, the payload differs", id)
		}
	}
}

// TestEveryNodeType writes and reads a node of every type.
func TestEveryNodeType(t *testing.T) {
	for typ := NoNode + 1; typ < numNodeTypes; typ++ {
		f := nodeInfos[typ].form
		g := &Graph{Identifier: XN01}
		n := Node{Type: typ, Min: float32(math.Inf(-1)), Max: float32(math.Inf(1)), Flags: 9}
		for i := range f.inputs {
			g.Values = append(g.Values, Value{ID: uint32(i), Type: FP32, External: uint32(i), Flags: ExternalInput})
			g.Inputs, n.Inputs = append(g.Inputs, uint32(i)), append(n.Inputs, uint32(i))
			g.NumExterns++
		}
		for i := range f.outputs {
			id := uint32(100 + i)
			g.Values = append(g.Values, Value{ID: id, Type: FP32, External: InvalidID})
			n.Outputs = append(n.Outputs, id)
		}
		for i := range f.params {
			n.Params = append(n.Params, uint32(i+1))
		}
		for range f.lists {
			n.Lists = append(n.Lists, []uint32{0})
		}
		if f.hasFactor {
			n.Factor = 0.25
		}
		g.Nodes = []Node{n}
		b, err := Write(g)
		if err != nil {
			t.Errorf("%v: %v", typ, err)
			continue
		}
		got, err := Read(b)
		if err != nil {
			t.Errorf("%v: %v", typ, err)
			continue
		}
		if d := cmp.Diff(g, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%v: %s", typ, d)
		}
	}
}

// faults change a good graph; Read has to refuse what Write made of it.
var faults = []struct {
	want   string
	change func(g *Graph)
}{
	{"value 0: unknown data type 0", func(g *Graph) { g.Values[0].Type = InvalidType }},
	{"value 0: unknown data type 15", func(g *Graph) { g.Values[0].Type = numTypes }},
	{"value 0: unknown data type 1", func(g *Graph) { g.Values[0].DynamicType = -1 }},
	{"value 1: id 0 is taken", func(g *Graph) { g.Values[1].ID = 0 }},
	{"value 2: constant 9 of 4", func(g *Graph) { g.Values[2].Constant = 9 }},
	{"value 0: unknown flags 5", func(g *Graph) { g.Values[0].Flags = 5 }},
	{"value 0: it is an input and an output", func(g *Graph) { g.Values[0].Flags = 3 }},
	{"value 0: external id 2 does not agree", func(g *Graph) { g.Values[0].External = 2 }},
	{"value 4: external id 0 is taken", func(g *Graph) { g.Values[4].External = 0 }},
	{"value 0: external id 0 does not agree", func(g *Graph) { g.Values[0].Constant = 2 }},
	{"value 0: too many elements", func(g *Graph) { g.Values[0].Dims = []uint32{1 << 31, 1 << 31} }},
	{"value 0: it has 7 sizes", func(g *Graph) { g.Values[0].Dims = make([]uint32, 7) }},
	{"value 1: constant has 5 bytes, want 6", func(g *Graph) { g.Constants[1] = Constant{Size: 5, Data: make([]byte, 5)} }},
	{"value 1: quantization does not fit type qcint8", func(g *Graph) { g.Values[1].Quant = Quant{} }},
	{"value 1: channel dimension 2 of rank 2", func(g *Graph) { g.Values[1].Quant.ChannelDim = 2 }},
	{"value 1: channel dimension -1 of rank 2", func(g *Graph) { g.Values[1].Quant.ChannelDim = -1 }},
	{"value 1: 1 scales, want 2", func(g *Graph) { g.Values[1].Quant.Scales = []float32{1} }},
	{"value 1: scale is not positive", func(g *Graph) { g.Values[1].Quant.Scales[1] = 0 }},
	{"value 1: scales in constant 9 of 4", func(g *Graph) { g.Values[1].Quant.Scales, g.Values[1].Quant.ScaleConstant = nil, 9 }},
	{"value 3: zero point 128 of type qint8", func(g *Graph) { g.Values[3].Quant.ZeroPoint = 128 }},
	{"value 3: scale is not positive", func(g *Graph) { g.Values[3].Quant.Scale = float32(math.NaN()) }},
	{"value 5: groups of 4 do not divide", func(g *Graph) { g.Values[5].Quant.GroupSize = 4 }},
	{"value 5: groups of 0 do not divide", func(g *Graph) { g.Values[5].Quant.GroupSize = 0 }},
	{"value 5: 3 scales, want 4", func(g *Graph) { g.Values[5].Quant.NumScales = 3 }},
	{"value 6: 3 dimensions share parameters, of 2", func(g *Graph) { g.Values[6].Quant.NonbatchDims = 3 }},
	{"graph: 4097 external values", func(g *Graph) { g.NumExterns = 4097 }},
	{"node 0 (FullyConnected): input 4 does not exist yet", func(g *Graph) { g.Nodes[0].Inputs[0] = 4 }},
	{"node 0 (FullyConnected): input 4294967295 does not exist yet", func(g *Graph) { g.Nodes[0].Inputs[0] = InvalidID }},
	{"node 0 (FullyConnected): output 0 does not exist or is written", func(g *Graph) { g.Nodes[0].Outputs[0] = 0 }},
	{"node 0 (FullyConnected): its least result", func(g *Graph) { g.Nodes[0].Min, g.Nodes[0].Max = 2, 1 }},
	{"node 1 (StaticTranspose): its list is no permutation", func(g *Graph) { g.Nodes[1].Lists[0] = []uint32{1, 1} }},
	{"node 1 (StaticTranspose): its list is no permutation", func(g *Graph) { g.Nodes[1].Params[0] = 3 }},
	{"node 0 (MaxPooling2d): a window, stride, dilation or number", func(g *Graph) {
		n := &g.Nodes[0]
		n.Type, n.Inputs, n.Params = MaxPooling2d, n.Inputs[:1], []uint32{0, 0, 0, 0, 1, 1, 1, 1, 1, 0}
	}},
	{"node 1: a list has 7 members", func(g *Graph) { g.Nodes[1].Lists[0] = make([]uint32, 7) }},
	{"node 0: it has no operator", func(g *Graph) { g.Nodes[0].Type = NoNode }},
	{"XNode.xnode_union at byte", func(g *Graph) { g.Nodes[0].Type = numNodeTypes }},
	{"output 0: value 3 is not an output", func(g *Graph) { g.Outputs[0] = 3 }},
	{"input 0: value 9 is not an input", func(g *Graph) { g.Inputs[0] = 9 }},
	{"graph: 2 external values, 0 inputs and 1 outputs", func(g *Graph) { g.Inputs = nil }},
	{"root at byte 4: got identifier \"XN02\"", func(g *Graph) { g.Identifier = "XN02" }},
}

func TestReadRefuses(t *testing.T) {
	for _, f := range faults {
		g := sample()
		f.change(g)
		b, err := Write(g)
		if err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("Write gave %d bytes and %v, want %q", len(b), err, f.want)
		}
	}
}

func TestHeaderFaults(t *testing.T) {
	good, err := Write(sample())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   int
		b    byte
		want string
	}{
		{8, 31, "header: length 31, want 30"}, {10, 8, "header: flatbuffer of"}, {16, 0xff, "header: flatbuffer of"},
		{18, 1, "header: constant data of"}, {29, 0xff, "header: constant data of"}, {20, 0xff, "header: constant data of"},
	} {
		b := append([]byte(nil), good...)
		b[c.at] = c.b
		if _, err := Read(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("byte %d: Read = %v, want %q", c.at, err, c.want)
		}
	}
	for n := range good {
		if _, err := Read(good[:n]); err == nil {
			t.Errorf("Read of the first %d of %d bytes succeeds", n, len(good))
		}
	}
}

// TestPayloadWithoutHeader reads the bare flatbuffer, whose constants are named.
func TestPayloadWithoutHeader(t *testing.T) {
	g := sample()
	g.Constants[1], g.Constants[3] = Constant{Key: "a", Size: 6}, Constant{Key: "b", Size: 6}
	b, err := Write(g)
	if err != nil {
		t.Fatal(err)
	}
	buf, _, err := parseHeader(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(buf); err != nil {
		t.Error(err)
	}
}

// TestReadSurvivesMutations changes bytes of good payloads: Read may not panic, and what it takes Write takes.
func TestReadSurvivesMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, good := range seeds(t) {
		for range 5000 {
			b := append([]byte(nil), good...)
			for range 1 + r.IntN(4) {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
			rewrite(t, b)
		}
	}
}

// seeds are good payloads.
func seeds(t testing.TB) [][]byte {
	b, err := Write(sample())
	if err != nil {
		t.Fatal(err)
	}
	list := [][]byte{b}
	for _, name := range []string{"convs", "linear_int4_groups"} {
		for _, b := range payloads(t, "../rt/testdata/"+name+"/xnnpack.pte") {
			list = append(list, b)
		}
	}
	return list
}

// rewrite writes what Read makes of b, and reads it again. Inputs may not panic, and counts those that there are.
func rewrite(t *testing.T, b []byte) {
	n := Inputs(b)
	g, err := Read(b)
	if err != nil {
		return
	}
	if n != len(g.Inputs) {
		t.Fatalf("%d inputs, want %d", n, len(g.Inputs))
	}
	again, err := Write(g)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(again); err != nil {
		t.Fatal(err)
	}
}

func FuzzRead(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(rewrite)
}
